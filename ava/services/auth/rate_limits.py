"""How often somebody may try: moving windows by the library `limits`, kept by each replica for itself."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem


def network(address: str) -> str:
    """Return whom an address stands for: itself, or of IPv6 its network of 64 bits, of which one customer has all."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network(f"{found}/64", strict=False)) if found.version == 6 else address


class RateLimited(ApiError):
    """Asked too often. ``seconds``: when to come again."""

    def __init__(self, what: str, rate: str, seconds: int) -> None:
        super().__init__(
            429,
            Problem(
                "too-many-requests",
                Phrase("Too many {what}.", what=what),
                "request",
                Phrase("more than {most}", most=rate),
                Phrase("at most {most}", most=rate),
                Phrase("Wait {seconds} s and try again.", seconds=seconds),
            ),
        )
        self.seconds = seconds


MOST_KNOWN = 20_000
"""Networks of persons that are remembered."""


class RateLimits:
    """Counts by kind and by who asks."""

    def __init__(self, **rates: str) -> None:
        self._rates: dict[str, tuple[str, RateLimitItem]] = {
            k: (text, parse(text)) for k, text in rates.items()
        }
        self._windows = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._open: dict[str, int] = defaultdict(int)
        self._lock = Lock()
        self._known: dict[tuple[str, str], None] = {}

    def spend(self, kind: str, who: str, what: str) -> None:
        """Count one; TooMany where that is more than allowed."""
        text, item = self._rates[kind]
        if not self._windows.hit(item, kind, who):
            raise RateLimited(what, text, self._seconds(item, kind, who))

    def count(self, kind: str, who: str) -> None:
        """Count one, whatever is allowed."""
        self._windows.hit(self._rates[kind][1], kind, who)

    def allows(self, kind: str, who: str) -> bool:
        """Count one; whether that is no more than allowed."""
        return self._windows.hit(self._rates[kind][1], kind, who)

    def remember(self, name: str, where: str) -> None:
        """Remember that a person has logged in from a network; the oldest are forgotten first."""
        with self._lock:
            self._known.pop((name, where), None)
            self._known[name, where] = None
            while len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]

    def is_known(self, name: str, where: str) -> bool:
        """Whether a person has logged in from a network since this process began."""
        return (name, where) in self._known

    def check(self, kind: str, who: str, what: str) -> None:
        """TooMany where no more is allowed; counts nothing."""
        text, item = self._rates[kind]
        if not self._windows.test(item, kind, who):
            raise RateLimited(what, text, self._seconds(item, kind, who))

    def _seconds(self, item: RateLimitItem, kind: str, who: str) -> int:
        left = self._windows.get_window_stats(item, kind, who).reset_time - time.time()
        return max(1, math.ceil(left))

    def room(self, most: int, who: str, what: str) -> None:
        """TooMany where all of at most so many at once are taken."""
        with self._lock:
            if self._open.get(who, 0) >= most:
                raise RateLimited(what, Phrase("{count} at once", count=most), 5)

    @contextmanager
    def one_of(self, most: int, who: str, what: str) -> Iterator[None]:
        """Hold one of at most so many at once; TooMany where all are taken."""
        with self._lock:
            if self._open[who] >= most:
                raise RateLimited(what, Phrase("{count} at once", count=most), 5)
            self._open[who] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[who] -= 1
                if not self._open[who]:
                    del self._open[who]
