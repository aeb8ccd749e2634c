"""What each check's module, or object, has."""

from __future__ import annotations

from typing import Protocol

from avadm_validation.measuring.context import Context, Outcome


class Check(Protocol):
    """One check of a suite."""

    ID: str
    TITLE: tuple[str, str]
    NEEDS: str

    def run(self, ctx: Context) -> Outcome:
        """Measure; MeasureError where that cannot be done."""
