"""The storage suite: cephfs (A-FS*) and block images (A-BD*), measured from client nodes."""

from __future__ import annotations

from typing import Protocol

from avadm_validation.suites.storage import (
    bd1,
    bd2,
    bd3,
    bd4,
    bd5,
    bd6,
    fs1,
    fs2,
    fs3,
    fs4,
    fs5,
    preconditions,
)
from avadm_validation.suites.storage.context import Context, Outcome


class Check(Protocol):
    """What each check's module has."""

    ID: str
    TITLE: tuple[str, str]
    NEEDS: str

    def run(self, ctx: Context) -> Outcome:
        """Measure; MeasureError where that cannot be done."""


PRECONDITIONS: Check = preconditions
CHECKS: tuple[Check, ...] = (fs1, fs2, fs3, fs4, fs5, bd1, bd2, bd3, bd4, bd5, bd6)
MEASURED_FIRST: tuple[Check, ...] = (fs3,)
"""Checks that what others remove would disturb: the MDS purges it for a while, and A-FS3 reads the MDS's memory."""
