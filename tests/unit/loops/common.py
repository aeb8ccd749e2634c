"""What the tests of loops share: something that raises, and a loop that runs until something is so."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ava.db.database import open_database
from tests.unit.ava import migrated_database
from tests.unit.ava.operator.fake_cluster import furnish

Patch = pytest.MonkeyPatch


class Odd(Exception):
    """What no part of the platform expects."""


def anything(**members: Any) -> Any:
    return SimpleNamespace(**members)


def until(work: Callable[[], Awaitable[object]], reached: Callable[[], object], seconds: float = 8.0) -> None:
    """Let a loop run until something is so; fails where the loop ends before, or never comes that far."""

    async def go() -> None:
        task = asyncio.ensure_future(work())
        try:
            async with asyncio.timeout(seconds):
                while not reached():
                    assert not task.done(), f"the loop has ended: {task}"
                    await asyncio.sleep(0.01)
            assert not task.done(), f"the loop has ended: {task}"
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    asyncio.run(go())


def opened(tmp_path: Path) -> Any:
    db = open_database(migrated_database.copied(tmp_path))
    furnish(db)
    return db


def bad_first(done: list[Any]) -> Callable[..., Any]:
    """Return a function that raises at its first call, and notes the others."""
    calls: list[int] = []

    def step(*args: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise Odd("planted")
        done.append(args)

    return step


def bad_first_async(done: list[Any]) -> Callable[..., Awaitable[None]]:
    step = bad_first(done)

    async def later(*args: Any, **named: Any) -> None:
        step(*args, **named)

    return later


async def called(what: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Stand in for the database's threads."""
    return what(*args, **named)


def contends(module: Any, run: Callable[[], Awaitable[object]], monkeypatch: Patch) -> None:
    """A leadership that ends by an error of any kind is followed by another one."""
    reigns: list[int] = []

    class Planted:
        def __init__(self, *args: Any) -> None:
            self.client = None

        async def run(self, work: Any) -> None:
            reigns.append(1)
            if len(reigns) == 1:
                raise Odd("planted")
            await asyncio.sleep(60)

    @contextlib.asynccontextmanager
    async def nothing(*args: Any, **named: Any) -> Any:
        yield 1

    monkeypatch.setattr(module, "Leader", Planted)
    monkeypatch.setattr(module, "Client", nothing)
    for name in ("serve", "serving"):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, nothing)
    if hasattr(module, "PAUSE"):
        monkeypatch.setattr(module, "PAUSE", 0.0)
    until(run, lambda: len(reigns) == 2)
