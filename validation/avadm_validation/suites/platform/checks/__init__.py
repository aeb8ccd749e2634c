"""The checks of the platform suite, in the order of a report."""

from __future__ import annotations

from avadm_validation.measuring.check import Check
from avadm_validation.suites.platform.checks import (
    ot1,
    ot2,
    ot3,
    pre,
    sc1,
    sc2,
    sc3,
    sc4,
    sc5,
    sc6,
    sc7,
    sc8,
    sc9,
)

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (sc1, sc2, sc3, sc4, sc5, sc6, sc7, sc8, sc9, ot1, ot2, ot3)
BESIDE: tuple[tuple[Check, ...], ...] = ((sc7, ot1, sc4), (sc1, sc2, sc5, ot2, ot3), (sc3, sc6, sc8, sc9))
"""All: they judge what happens, or a limit of minutes. A-SC7 counts free GPUs, so that no other has GPUs meanwhile, and A-SC2
fills nodes: what needs some of one node's for long comes after it."""
