"""A log that is followed: looked at again and again whether the run continues and whether who reads still may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from ava.domain.problems import ApiError
from ava.schemas.encoding import encode
from ava.services.logs.interface import LogBackendUnavailable, LogLine, Logs, Target

PERIOD = 2.0
"""Seconds between two looks at the run and at the reader's right; a log-out ends a stream within that."""
LONGEST = timedelta(hours=6)
"""A stream ends then, and the client comes again."""
T = TypeVar("T")
Look = Callable[[], Sequence[str] | None]


class Follower:
    """One log that is followed.

    Args:
        look: asks the database: the pods that are there, None where the run has ended; ApiError where the reader may not
            (any more). Runs in a thread.
        since: lines from then on.
    """

    def __init__(self, logs: Logs, target: Target, look: Look, since: datetime) -> None:
        self._logs, self._target, self._look, self._since = logs, target, look, since
        self._pods: Sequence[str] | None = target.pods
        self._refused = False

    async def rows(self, write: Callable[[LogLine], bytes], *, json: bool) -> AsyncIterator[bytes]:
        """Yield the lines as they are sent, and at the end how it ended."""
        deadline = asyncio.get_running_loop().time() + LONGEST.total_seconds()
        lines: asyncio.Queue[bytes] = asyncio.Queue(100)
        watch = asyncio.create_task(self._watch())
        pump = asyncio.create_task(self._pump(write, lines))
        end = "stopped"
        try:
            while not self._refused and asyncio.get_running_loop().time() < deadline:
                row = await _within(lines.get(), PERIOD)
                if row is not None:
                    yield row
                elif pump.done() and lines.empty():
                    end = pump.result()
                    break
                elif json:
                    yield b"\n"
        finally:
            watch.cancel()
            pump.cancel()
            await asyncio.gather(watch, pump, return_exceptions=True)
        if json:
            yield encode({"end": "refused" if self._refused else end}) + b"\n"
        elif end not in ("end", "stopped"):
            yield f"[ava] {end}\n".encode()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            try:
                self._pods = await run_in_threadpool(self._look)
            except ApiError as refused:
                # While the database is away for a moment, what was known holds on.
                if refused.status != 503:
                    self._refused = True
                    return

    async def _pump(self, write: Callable[[LogLine], bytes], lines: asyncio.Queue[bytes]) -> str:
        """Put lines into the queue; return how it ended."""
        try:
            async for line in self._logs.follow(self._target, lambda: self._pods, since=self._since):
                await lines.put(write(line))
        except LogBackendUnavailable as error:
            return f"the log cannot be followed: {error}"
        return "end"


async def _within(awaitable: Awaitable[T], seconds: float) -> T | None:
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except TimeoutError:
        return None
