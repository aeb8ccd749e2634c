"""The checks of the cache, in the order in which they run; what kills something comes last."""

from avadm_validation.measuring.check import Check
from avadm_validation.suites.alluxio.checks import change, evict, hit, master, pre, worker

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (hit, change, evict, worker, master)
BESIDE: tuple[tuple[Check, ...], ...] = ((change,), (evict,), (worker,), (master,))
"""Checks that other suites' may be made beside: they judge what is read, the loosest of limits in time, and counters of the cache
that no one else uses. One after another: what one caches another evicts."""
