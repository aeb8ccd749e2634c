"""Errors that a user may cause; the command line prints them and never shows a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from avadm.catalogue import finding
from avadm.findings import Finding

EXIT_GOOD = 0
EXIT_FOUND_BAD = 1
EXIT_COULD_NOT_RUN = 2
EXIT = {"good": EXIT_GOOD, "failed": EXIT_FOUND_BAD, "canceled": EXIT_COULD_NOT_RUN}
"""The exit status of each result of a run (engine/summary.py)."""

DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What reading a file of our own may raise where somebody or a dying disk changed it."""


class AvadmError(Exception):
    """A verb could not do its work; carries every finding of the pass.

    Args:
        findings: what was wrong, all of one pass together.
        exit_code: 1 when the work ran and found something bad, 2 when it could not run.
    """

    def __init__(self, findings: Sequence[Finding] | Finding, exit_code: int = EXIT_COULD_NOT_RUN) -> None:
        self.findings = [findings] if isinstance(findings, Finding) else list(findings)
        self.exit_code = exit_code
        super().__init__("; ".join(f.what for f in self.findings))

    @classmethod
    def of(cls, code: str, where: str = "", found: str = "", wanted: str = "", **fields: Any) -> Self:
        """Return the error of one finding of the catalogue."""
        return cls(finding(code, where, found, wanted, **fields))
