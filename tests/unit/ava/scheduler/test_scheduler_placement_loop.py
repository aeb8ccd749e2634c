"""The loop: what can be placed is bound, what cannot gets a reason, and no fault makes it spin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ava.domain.placement.model import Pod
from ava.domain.placement.schedule_pass import Decisions
from ava.kube.errors import Denied
from ava.scheduler.binder import Binder
from ava.scheduler.cache import Cache
from ava.scheduler.metrics import Metrics
from ava.scheduler.placement_loop import PlacementLoop
from tests.unit.ava.scheduler.builders import Binds, Object, node, pod


class World:
    """A cluster, a scheduler's loops, and a server that tells of each bind unless ``quiet``."""

    def __init__(
        self, server: Binds, *things: Object, nodes: int = 2, fresh: bool = True, quiet: bool = False
    ) -> None:
        self.server, self.things, self.quiet = server, {self.key(t): t for t in things}, quiet
        self.decisions: list[Decisions] = []
        self.metrics = Metrics()
        self.cache = Cache((), lambda: self.placer.wake())
        self.binder = Binder(server, self.metrics, refused=self._refused, wanted=self.cache.is_assumed)
        self.placer = PlacementLoop(
            self.cache, self.binder, self.metrics, fresh=lambda: fresh, tell=self.decisions.append, every=0.05
        )
        for i in range(nodes):
            self.cache.on_node(None, node(f"n{i}", 4))

    @staticmethod
    def key(thing: Object) -> str:
        return f"{thing['metadata']['namespace']}/{thing['metadata']['name']}"

    def _refused(self, p: Pod) -> None:
        self.cache.refused(p, self.things[p.key])
        self.placer.refused(p)

    async def until(self, done: Callable[[], bool], seconds: float = 10.0) -> None:
        tasks = [asyncio.create_task(part()) for part in (self.binder.run, self.placer.run)]
        for thing in self.things.values():
            self.cache.on_pod(None, thing)
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    await asyncio.sleep(0.005)
                    if not self.quiet:
                        self.echo()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def echo(self) -> None:
        """Tell of what was bound, as a watch does."""
        for key, name in self.server.bound.items():
            thing = self.things[key]
            if not thing["spec"].get("nodeName"):
                thing["spec"]["nodeName"] = name
                self.cache.on_pod(None, thing)


def test_what_fits_is_bound_and_the_rest_is_reported_why() -> None:
    server = Binds()
    world = World(server, *(pod("a", i, size=8) for i in range(8)), pod("b", gpu=1))
    asyncio.run(
        world.until(
            lambda: len(server.bound) == 8 and bool(world.decisions) and bool(world.decisions[-1].reasons)
        )
    )
    assert sum(world.cache.cluster.slots[n].free.gpu for n in ("n0", "n1")) == 0
    ((key, problems),) = world.decisions[-1].reasons.items()
    assert key.endswith("b-0-worker-0")
    assert problems[0].code == "nodes-gpu"


def test_what_ends_makes_room_for_what_waits() -> None:
    server = Binds()
    first = pod("a", gpu=4)
    world = World(server, first, pod("b", gpu=4, **{"ava.io/priority": "1"}), nodes=1)

    def done() -> bool:
        if len(server.bound) == 1 and first["spec"].get("nodeName"):
            world.cache.on_pod(None, {**first, "status": {"phase": "Succeeded"}})
        return len(server.bound) == 2

    asyncio.run(world.until(done))


def test_a_slow_watch_allocates_nothing_twice() -> None:
    server = Binds()
    world = World(server, *(pod(f"a{i}", gpu=1) for i in range(30)), quiet=True)

    def done() -> bool:
        return len(server.bound) >= 8 and len(world.decisions) > 5

    asyncio.run(world.until(done))
    given = list(server.bound.values())
    assert len(given) == 8
    assert max(given.count(n) for n in given) == 4


def test_a_bind_that_is_refused_again_and_again_does_not_make_the_loop_spin() -> None:
    def answer(key: str, node: str) -> None:
        raise Denied("no", code=403)

    server = Binds(answer)
    world = World(server, pod("a"))
    with pytest.raises(TimeoutError):
        asyncio.run(world.until(lambda: False, 2.0))
    assert 2 <= len(server.calls) <= 5, "once at once, then later and later"


def test_others_are_placed_while_one_is_refused() -> None:
    def answer(key: str, node: str) -> Any:
        if "bad" in key:
            raise Denied("no", code=403)
        return None

    server = Binds(answer)
    world = World(server, pod("bad"), *(pod(f"a{i}") for i in range(5)))
    asyncio.run(world.until(lambda: len(server.bound) == 5))


def test_nothing_is_decided_on_what_is_too_old() -> None:
    server = Binds()
    world = World(server, pod("a"), fresh=False)
    with pytest.raises(TimeoutError):
        asyncio.run(world.until(lambda: bool(server.calls), 0.5))


def test_the_loop_goes_on_ahead_of_the_binds_only_so_far() -> None:
    # What comes with a higher priority while binds are slow has its turn before those that were not sent yet.
    async def scene() -> list[str]:
        gate = asyncio.Semaphore(0)
        server = Binds(lambda key, node: gate.acquire())
        world = World(server, *(pod(f"a{i:03}", gpu=0, cpu="10m", memory="1Mi") for i in range(200)), nodes=0)
        world.cache.on_node(None, node("c0", 0, pods=1000))
        urgent = pod("urgent", gpu=0, cpu="10m", memory="1Mi", **{"ava.io/priority": "99"})

        def done() -> bool:
            if len(server.calls) >= 8 and World.key(urgent) not in world.things:
                world.things[World.key(urgent)] = urgent
                world.cache.on_pod(None, urgent)
            for _ in range(3):
                gate.release()
            return len(server.bound) == 201

        await world.until(done)
        return list(server.bound)

    order = asyncio.run(scene())
    assert next(i for i, key in enumerate(order) if "urgent" in key) < 150
