"""The checks, in the order of a report."""

from __future__ import annotations

from avadm_validation.measuring.check import Check
from avadm_validation.suites.storage.checks import bd1, bd2, bd3, bd4, bd5, bd6, fs1, fs2, fs3, fs4, fs5, pre

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (fs1, fs2, fs3, fs4, fs5, bd1, bd2, bd3, bd4, bd5, bd6)
BESIDE: tuple[tuple[Check, ...], ...] = ((bd6,), (bd3,), (bd4,))
"""Checks that others may be made beside: they judge how many files an image takes and who may write, and no time."""
SHOW_TIMES: tuple[Check, ...] = (bd4,)
"""Those of them that show times of the cluster where an image can be mounted, as at a site: there they are made alone."""
MEASURED_FIRST: tuple[Check, ...] = (fs3,)
"""Checks that what others remove would disturb: the MDS purges it for a while, and A-FS3 reads the MDS's memory."""
