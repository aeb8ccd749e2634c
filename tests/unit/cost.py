"""What a piece of code costs, in figures that another machine, or a busy one, leaves as they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from cProfile import Profile
from typing import Self


class CallCount:
    """Counts calls of functions, those of C too, from entering to leaving; ``now`` may be read in between."""

    def __init__(self) -> None:
        self._profile = Profile()

    def __enter__(self) -> Self:
        self._profile.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self._profile.disable()

    def now(self) -> int:
        """Return how many calls have ended."""
        return sum(entry.callcount for entry in self._profile.getstats())


def calls(work: Callable[[], object]) -> int:
    """Return how many calls of functions a piece of code makes."""
    with CallCount() as count:
        work()
    return count.now()


def growth(small: Callable[[], object], large: Callable[[], object], *, tries: int = 5) -> float:
    """Return how many times the CPU seconds of ``small`` the thread spends on ``large``, each at its fastest of some tries."""

    def fastest(work: Callable[[], object]) -> float:
        begun = time.thread_time()
        work()
        return time.thread_time() - begun

    tried = [(fastest(small), fastest(large)) for _ in range(tries)]
    return min(large for _, large in tried) / min(small for small, _ in tried)
