"""The suite's clock, and how it waits."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_S = 0.5
"""Seconds between two looks at what is waited for: by so much a time that is told may be too long, never too short."""


def now() -> float:
    """Return the time, epoch seconds on the controller."""
    return time.time()


def rest(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(seconds)


def until(true: Callable[[], bool], seconds: float, every: float = EVERY_S) -> bool:
    """Look until something is true; return whether it became so in time."""
    end = now() + seconds
    while not true():
        if now() >= end:
            return False
        rest(every)
    return True
