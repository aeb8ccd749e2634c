"""The database's calls wait for a database: each runs in a thread, so that the lease is renewed meanwhile."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class DbExecutor:
    """A few threads of its own: other users of the loop's default threads cannot take them all."""

    def __init__(self, count: int = 8) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="database")

    async def __call__(self, what: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        """Return what ``what`` returns. When the waiting task is cancelled, the call itself still comes to its end."""
        call = functools.partial(what, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Let the threads end after the calls that they are in."""
        self._pool.shutdown(wait=False, cancel_futures=True)
