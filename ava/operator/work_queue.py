"""What is to be looked at: each thing once however often it is named, never by two workers at once."""

from __future__ import annotations

import asyncio

from ava.kube.backoff import Backoff


class WorkQueue:
    """Keys that wait for a worker."""

    def __init__(self, first: float = 0.2, most: float = 60.0) -> None:
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._working: set[str] = set()
        self._again: set[str] = set()
        self._later: dict[str, tuple[float, asyncio.TimerHandle]] = {}
        self._backoffs: dict[str, Backoff] = {}
        self._bounds = (first, most)

    def add(self, key: str) -> None:
        """Have a key looked at soon; again after the present look where a worker has it."""
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: str, seconds: float) -> None:
        """Have a key looked at in so many seconds, at the latest: an earlier time that was asked for stays."""
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        before = self._later.get(key)
        if before is not None:
            if before[0] <= when:
                return
            before[1].cancel()
        self._later[key] = (when, loop.call_later(seconds, self._due, key))

    def retry(self, key: str) -> float:
        """Have a key looked at again after a wait that grows with each failure in a row; return the wait, seconds."""
        wait = self._backoffs.setdefault(key, Backoff(*self._bounds)).next()
        self.add_after(key, wait)
        return wait

    async def get(self) -> str:
        """Return the next key, which is this worker's until ``done``."""
        key = await self._ready.get()
        self._waiting.discard(key)
        self._working.add(key)
        return key

    def done(self, key: str, *, well: bool) -> None:
        """Give a key back; ``well`` forgets earlier failures."""
        self._working.discard(key)
        if well:
            self._backoffs.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def idle(self) -> bool:
        """Return whether nothing waits or is worked on (what waits for a time does not count)."""
        return not self._waiting and not self._working

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Drop all timers."""
        for _, handle in self._later.values():
            handle.cancel()
        self._later.clear()

    def _due(self, key: str) -> None:
        self._later.pop(key, None)
        self.add(key)
