"""The checks of the objects suite, in the order in which they run."""

from __future__ import annotations

from avadm_validation.measuring.check import Check
from avadm_validation.suites.objects.checks import (
    client_compat,
    functions,
    loss,
    pre,
    quota,
    refusals,
    throughput,
)

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (functions, refusals, quota, throughput, loss, client_compat)
BESIDE: tuple[tuple[Check, ...], ...] = ((functions, refusals, quota, client_compat),)
"""Checks that others may be made beside, each in a bucket of its own: they judge what is served and no time."""
