"""Two schedulers at once. A bind's 409 protects a pod, never a node's room: only the fence does."""

from __future__ import annotations

import asyncio

import pytest

from ava.kube.errors import Fenced
from ava.scheduler.binder import Binder
from ava.scheduler.cache import Cache
from ava.scheduler.metrics import Metrics
from ava.scheduler.placement_loop import PlacementLoop
from tests.unit.ava.scheduler.builders import Binds, Object, node, pod


class Fence:
    """A leader's client: passes binds on while it holds the lead (as ava.kube.leader does)."""

    def __init__(self, server: Binds, leads: bool) -> None:
        self.server, self.leads = server, leads

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: dict[str, str] | None = None
    ) -> bool:
        if not self.leads:
            raise Fenced("does not hold the lease")
        return await self.server.bind(namespace, name, uid, node, annotations)


class Scheduler:
    def __init__(self, client: Fence, *sees: Object) -> None:
        self.cache = Cache((), lambda: self.placer.wake())
        self.binder = Binder(client, Metrics(), refused=lambda pod: None, wanted=self.cache.is_assumed)
        self.placer = PlacementLoop(self.cache, self.binder, Metrics(), every=0.05)
        self.cache.on_node(None, node("n0", 4))
        for thing in sees:
            self.cache.on_pod(None, thing)

    def loops(self) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(part()) for part in (self.binder.run, self.placer.run)]


async def both(fenced: bool) -> Binds:
    """Two that have not seen the same: each has heard of one pod that asks for all of the node."""
    server = Binds()
    old = Scheduler(Fence(server, leads=not fenced), pod("a", gpu=4))
    new = Scheduler(Fence(server, leads=True), pod("b", gpu=4))
    tasks = old.loops() + new.loops()
    await asyncio.sleep(0.3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return server


def test_without_the_fence_both_give_away_the_same_gpus() -> None:
    """The negative control: the server takes both binds."""
    assert len(asyncio.run(both(fenced=False)).bound) == 2


def test_with_the_fence_only_the_leader_does() -> None:
    server = asyncio.run(both(fenced=True))
    assert list(server.bound) == ["ava-bench/b-0-worker-0"]


@pytest.mark.parametrize("count", [8])
def test_two_that_see_the_same_decide_the_same(count: int) -> None:
    """No guarantee, but why even two leaders seldom differ: the decision depends on nothing but what is seen."""
    things = [pod(f"p{i}", gpu=1) for i in range(count)]
    placed = []
    for order in (things, things[::-1]):
        one = Scheduler(Fence(Binds(), leads=True), *order)
        asyncio.run(_pass(one))
        placed.append({p.key for p in one.cache.cluster.pods()})
    assert placed[0] == placed[1]
    assert len(placed[0]) == 4


async def _pass(scheduler: Scheduler) -> None:
    scheduler.placer._step()
