"""Binds: several at once, certain outcomes alone end an assumption, and none is left in flight when the lead goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ava.domain.placement.model import PlacementConstraints, Pod
from ava.domain.resources import Resources
from ava.kube.errors import Denied, Fenced, Invalid, Unavailable
from ava.scheduler.binder import Binder
from ava.scheduler.metrics import Metrics
from tests.unit.ava.scheduler.builders import Binds


def pods(count: int) -> list[Pod]:
    return [
        Pod(f"ns/p{i}", f"u{i}", Resources(1), PlacementConstraints("gpu"), node="n") for i in range(count)
    ]


class World:
    def __init__(self, answer: Any = lambda key, node: None, width: int = 8) -> None:
        self.server = Binds(answer)
        self.refused: list[str] = []
        self.wanted: set[str] | None = None
        self.metrics = Metrics()
        self.binder = Binder(
            self.server,
            self.metrics,
            refused=lambda pod: self.refused.append(pod.key),
            wanted=lambda pod: self.wanted is None or pod.key in self.wanted,
            width=width,
        )

    async def run(self, some: list[Pod], seconds: float = 5.0) -> None:
        self.binder.put(some)
        task = asyncio.create_task(self.binder.run())
        async with asyncio.timeout(seconds):
            while len(self.server.bound) + len(self.refused) < len(some):
                self.binder.done.clear()
                await self.binder.done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def count(self, result: str) -> float:
        return self.metrics.registry.get_sample_value("ava_scheduler_binds_total", {"result": result}) or 0.0


def test_all_are_bound_at_most_so_many_at_once() -> None:
    world = World(lambda key, node: asyncio.sleep(0.001), width=3)
    asyncio.run(world.run(pods(20)))
    assert len(world.server.bound) == 20
    assert world.server.most == 3
    assert world.count("bound") == 20


def test_a_pod_that_is_bound_elsewhere_is_refused() -> None:
    world = World()
    world.server.bound["ns/p0"] = "other"
    asyncio.run(world.run(pods(2)))
    assert world.refused == ["ns/p0"]


@pytest.mark.parametrize("error", [Denied("no", code=403), Invalid("no", code=422)])
def test_what_the_server_refuses_for_good_gives_the_assumption_back(error: Exception) -> None:
    def answer(key: str, node: str) -> None:
        raise error

    world = World(answer)
    asyncio.run(world.run(pods(1)))
    assert world.refused == ["ns/p0"]
    assert len(world.server.calls) == 1


def test_an_unknown_outcome_keeps_the_assumption_and_is_tried_again_on_the_same_node() -> None:
    left = [Unavailable("lost"), Unavailable("lost")]

    def answer(key: str, node: str) -> None:
        if left:
            raise left.pop()

    world = World(answer)
    asyncio.run(world.run(pods(1)))
    assert world.refused == []
    assert world.server.calls == [("ns/p0", "n")] * 3
    assert world.count("unknown") == 2


def test_a_pod_that_is_not_assumed_any_more_is_not_bound() -> None:
    world = World()
    world.wanted = {"ns/p1"}
    world.binder.put(pods(1))
    asyncio.run(world.run(pods(2)[1:]))
    assert world.server.calls == [("ns/p1", "n")]


def test_a_bind_that_is_fenced_keeps_the_assumption_and_is_not_repeated() -> None:
    async def scene() -> World:
        def answer(key: str, node: str) -> None:
            raise Fenced("not the leader")

        world = World(answer)
        world.binder.put(pods(1))
        task = asyncio.create_task(world.binder.run())
        await asyncio.wait_for(world.binder.done.wait(), 5)
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return world

    world = asyncio.run(scene())
    assert (len(world.server.calls), world.refused, world.server.bound) == (1, [], {})


def test_what_was_sent_is_waited_for_when_the_lead_is_given_up_and_nothing_more_is_sent() -> None:
    async def scene() -> World:
        gate = asyncio.Event()
        world = World(lambda key, node: gate.wait(), width=2)
        world.binder.put(pods(5))
        task = asyncio.create_task(world.binder.run())
        while world.server.at_once < 2:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0.05)
        assert not task.done(), "its binds are on their way"
        gate.set()
        await asyncio.gather(task, return_exceptions=True)
        return world

    world = asyncio.run(scene())
    assert len(world.server.calls) == len(world.server.bound) == 2
