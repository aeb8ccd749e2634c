"""The checks, in the order of a report."""

from __future__ import annotations

from avadm_validation.measuring.check import Check
from avadm_validation.suites.storage.checks import bd1, bd2, bd3, bd4, bd5, bd6, fs1, fs2, fs3, fs4, fs5, pre

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (fs1, fs2, fs3, fs4, fs5, bd1, bd2, bd3, bd4, bd5, bd6)
MEASURED_FIRST: tuple[Check, ...] = (fs3,)
"""Checks that what others remove would disturb: the MDS purges it for a while, and A-FS3 reads the MDS's memory."""
