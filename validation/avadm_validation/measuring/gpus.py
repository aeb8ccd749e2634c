"""Who of a run's suites has the GPUs: two that both count on free ones would take them from each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_S = 1800.0
"""Seconds after which no one waits any longer; what was measured then may be disturbed, and is judged all the same."""
_CHANGED = threading.Condition()
_HOLDERS: list[str] = []


@contextmanager
def held(suite: str, seconds: float = LONGEST_S) -> Iterator[None]:
    """Have the GPUs for the checks of one suite, which may share them; those of other suites wait.

    Args:
        suite: whose checks they are.
        seconds: how long to wait for others at most.
    """
    with _CHANGED:
        _CHANGED.wait_for(lambda: not set(_HOLDERS) - {suite}, seconds)
        _HOLDERS.append(suite)
    try:
        yield
    finally:
        with _CHANGED:
            _HOLDERS.remove(suite)
            _CHANGED.notify_all()
