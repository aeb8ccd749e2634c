"""The pseudo-terminal through which ansible-runner reads a playbook's events, on a busy machine too."""

from __future__ import annotations

from typing import Any

import pexpect

PATIENCE_S = 60.0


class PatientSpawn(pexpect.spawn):  # type: ignore[misc]  # pexpect has no types
    """A child whose last words are waited for.

    Once a playbook has ended ansible-runner reads what is left for 5 s, and throws the whole run away where that takes
    longer (seen at a load of 20 on two cores). What comes within PATIENCE_S seconds is read; then the run has the exit
    status that it has.
    """

    def expect(self, pattern: Any, timeout: float | None = -1, **more: Any) -> int:
        """Wait for a pattern, as pexpect does; for the end of the output longer, and without an error."""
        if pattern is pexpect.EOF:
            pattern, timeout = [pexpect.EOF, pexpect.TIMEOUT], PATIENCE_S
        return int(super().expect(pattern, timeout=timeout, **more))


def be_patient() -> None:
    """Let ansible-runner, which names the class by its module, make such children."""
    pexpect.spawn = PatientSpawn
