"""What one client of a load saw: acknowledged writes, errors, losses, and its longest pause."""

import itertools
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True)
class Result:
    """What came of one client of a load.

    Attributes:
        load: S, K, A or Q.
        stream: which client of the load, such as ``cephfs``.
        acknowledged: number of acknowledged writes, or of answered requests.
        lost: acknowledged writes that were not found again at the end.
        errors: with the time (UTC) of each.
        pause_s: longest time without an answer, from the beginning of the client to its end, seconds.
        pause_at: when that began, UTC in ISO 8601.
    """

    load: str
    stream: str
    acknowledged: int
    lost: list
    errors: list
    pause_s: float
    pause_at: str

    def __str__(self):
        """Return the result in words."""
        return (
            f"{self.load} {self.stream}: {self.acknowledged} acknowledged, {len(self.lost)} lost, "
            f"{len(self.errors)} errors, longest pause {self.pause_s:.1f} s at {self.pause_at}"
        )


def utc(seconds):
    """Return a time as text, UTC in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Stream:
    """Events of one client; all times in seconds since the epoch, of the clock of the machine that it runs on."""

    load: str
    name: str
    began: float = field(default_factory=time.time)
    ended: float | None = None
    kept: list = field(default_factory=list)
    good: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    lost: list = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledge(self, key, at=None):
        """Note a write that was acknowledged, which has to be found again at the end."""
        self.answer(at)
        self.kept.append(key)

    def answer(self, at=None):
        """Note that the service answered."""
        with self._lock:
            self.good.append(time.time() if at is None else at)

    def fail(self, text, at=None):
        """Note an error."""
        self.errors.append((time.time() if at is None else at, text))

    def end(self, at=None):
        """Note that the client ends: what is not answered by then is a pause until then."""
        if self.ended is None:
            self.ended = time.time() if at is None else at

    def pause(self):
        """Return the length of the longest time without an answer, in seconds, and its beginning."""
        with self._lock:
            end = time.time() if self.ended is None else self.ended
            # A client that reports late events (fio's log) does so out of order; its last answer may be past its end.
            moments = sorted([self.began, *self.good, end])
        return max(((b - a, a) for a, b in itertools.pairwise(moments)), key=lambda one: one[0])

    def result(self):
        """Return what came of it."""
        seconds, since = self.pause()
        errors = [f"{utc(at)} {text}" for at, text in self.errors]
        return Result(
            self.load, self.name, len(self.kept), list(self.lost), errors, round(seconds, 2), utc(since)
        )
