"""How long to wait before the next try: twice as long each time, up to a bound, with chance so that many do not come at once."""

from __future__ import annotations

import random

SOON = 3.0
"""Seconds at most between tries to reach what everything waits for (database, API server): they add to every recovery."""


class Backoff:
    """A row of waits.

    Args:
        first: upper bound of the first wait, seconds.
        most: upper bound of all, seconds.
    """

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self.tries = 0

    def next(self) -> float:
        """Return the next wait, seconds: between half of the bound and the bound."""
        bound = min(self._most, self._first * 2.0 ** min(self.tries, 30))
        self.tries += 1
        return bound * random.uniform(0.5, 1.0)  # noqa: S311 - no secret hangs on it

    def reset(self) -> None:
        """Begin again with the first wait: the last try succeeded."""
        self.tries = 0
