"""The suite's clock, and how it waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from avadm_validation.measuring.machine import patience

EVERY_S = 0.5
"""Seconds between two looks at what is waited for: by so much a reported time may be too long, never too short."""


def now() -> float:
    """Return the time, epoch seconds on the controller."""
    return time.time()


def rest(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(seconds)


def until(true: Callable[[], bool], seconds: float, every: float = EVERY_S) -> bool:
    """Look until something is true; return whether it became so in time.

    On a busy machine the time is longer, as much as the machine is slower (`avadm_validation.measuring.machine.patience`).
    """
    begun = now()
    while not true():
        if now() >= begun + seconds * patience():
            return False
        rest(every)
    return True
