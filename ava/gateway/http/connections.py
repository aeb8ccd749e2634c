"""What is open through the gate: each is cut when its session has ended, its workbench stops or changes hands.

A websocket is let in at its first request alone, and may live for days: so all that is open is asked about every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ava.gateway.http.api_client import AccessRefused, ApiClient

log = logging.getLogger(__name__)
AT_ONCE = 500
"""Cookies of one question."""


class ConnectionTracker:
    """Tasks that serve what is open, by the cookie that let them in.

    Args:
        deaf: seconds without an answer of the API after which all is cut.
    """

    def __init__(self, deaf: float) -> None:
        self._tasks: dict[str, set[asyncio.Task[object]]] = {}
        self._sockets: dict[str, set[asyncio.Task[object]]] = {}
        self._deaf = deaf
        self._heard = time.monotonic()

    def __len__(self) -> int:
        return sum(len(tasks) for tasks in self._tasks.values())

    @contextmanager
    def held(self, cookie: str) -> Iterator[None]:
        """Have the task that runs this cut, by its cancellation, when the cookie is good no more."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - called in one
        self._tasks.setdefault(cookie, set()).add(task)
        try:
            yield
        finally:
            self._sockets.get(cookie, set()).discard(task)
            if not self._sockets.get(cookie):
                self._sockets.pop(cookie, None)
            self._tasks[cookie].discard(task)
            if not self._tasks[cookie]:
                del self._tasks[cookie]

    def socket(self, cookie: str, most: int) -> bool:
        """Count the task that runs this as a websocket; return whether the cookie has at most ``most`` of them."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - called in one
        mine = self._sockets.setdefault(cookie, set())
        if len(mine) >= most:
            return False
        mine.add(task)
        return True

    async def look(self, asks: ApiClient) -> int:
        """Ask about all that is open, and cut what may not stay; return how many were cut."""
        cookies, cut = list(self._tasks), 0
        for first in range(0, len(cookies), AT_ONCE):
            some = cookies[first : first + AT_ONCE]
            try:
                stay = await asks.alive(some)
            except AccessRefused as refused:
                if time.monotonic() - self._heard > self._deaf:
                    log.warning("the API has not answered for %.0f s (%s): all is cut", self._deaf, refused)
                    return self._cut(list(self._tasks))
                return cut
            cut += self._cut([cookie for cookie, well in zip(some, stay, strict=True) if not well])
        self._heard = time.monotonic()
        return cut

    def _cut(self, cookies: list[str]) -> int:
        tasks = [task for cookie in cookies for task in self._tasks.get(cookie, ())]
        for task in tasks:
            task.cancel()
        return len(tasks)
