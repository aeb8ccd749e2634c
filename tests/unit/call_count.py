"""The work of a piece of code, counted in calls: the same on any machine, however busy."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile


def calls(work: Callable[[], object]) -> int:
    """Return how many calls of functions, those of C counted, a piece of code makes."""
    profile = Profile()
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())
