"""The checks of the cache, in the order in which they run; what kills something comes last."""

from avadm_validation.measuring.check import Check
from avadm_validation.suites.alluxio.checks import change, evict, hit, master, pre, worker

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (hit, change, evict, worker, master)
