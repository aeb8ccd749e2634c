"""Several requests at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

WIDTH = 8
"""How many of one run's requests are under way at once."""


async def gather_limited(work: Iterable[Callable[[], Awaitable[Any]]], width: int = WIDTH) -> None:
    """Do all, at most ``width`` at once. One that fails does not hinder the others; then the first error is raised."""
    room = asyncio.Semaphore(width)

    async def one(each: Callable[[], Awaitable[Any]]) -> None:
        async with room:
            await each()

    reply = await asyncio.gather(*(one(each) for each in work), return_exceptions=True)
    for error in reply:
        if isinstance(error, BaseException):
            raise error
