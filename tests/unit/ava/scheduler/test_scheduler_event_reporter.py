"""Reasons are written on pods and in the database, once each, at a bounded rate, and taken back when a place is found."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from ava.domain import labels
from ava.domain.placement.model import Gang
from ava.domain.placement.schedule_pass import Decisions
from ava.domain.problems import ApiError, Problem
from ava.kube.errors import Conflict
from ava.scheduler import cluster_reader
from ava.scheduler.event_reporter import AT_ONCE, ConditionReporter, body
from tests.unit.ava.scheduler.builders import Object, pod

WHY = [Problem("nodes-gpu", "3 nodes: GPU 2 free at most, 4 wanted.", remedy="Wait.")]


class World:
    def __init__(self, *things: Object, fails: Exception | None = None, **more: Any) -> None:
        self.things = {f"{t['metadata']['namespace']}/{t['metadata']['name']}": t for t in things}
        self.patched: list[tuple[str, Any]] = []
        self.kept: list[tuple[str, list[str]]] = []
        self.fails = fails
        self.teller = ConditionReporter(
            self, self, self.things.get, **{"rate": 1000.0, "patience": 0.0, **more}
        )

    async def patch(
        self, kind: Any, name: str, patch: Object, namespace: str | None = None, *, sub: str | None = None
    ) -> Object:
        if self.fails:
            raise self.fails
        assert sub == "status"
        self.patched.append((name, patch))
        thing = self.things[f"{namespace}/{name}"]
        thing["metadata"]["annotations"] |= patch["metadata"]["annotations"]
        return thing

    def set_waits_for(self, run: str, reasons: Sequence[Problem]) -> None:
        self.kept.append((run, [p.code for p in reasons]))

    def gang(self, name: str) -> Gang:
        pods = tuple(cluster_reader.pod(t, str) for k, t in self.things.items() if f"/{name}-" in k)
        return Gang(pods[0].gang, pods, len(pods))

    def work(self, done: Callable[[], bool], seconds: float = 5.0) -> None:
        async def scene() -> None:
            task = asyncio.create_task(self.teller.run())
            async with asyncio.timeout(seconds):
                while not done():
                    await asyncio.sleep(0.002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(scene())


def waits(gang: Gang, why: Sequence[Problem] = WHY) -> Decisions:
    return Decisions(waiting=[gang], reasons={gang.key: list(why)})


def test_the_pod_and_the_database_say_why() -> None:
    world = World(*(pod("r", i, size=2) for i in range(2)))
    world.teller.tell(waits(world.gang("r")))
    world.work(lambda: bool(world.kept))
    assert [name for name, _ in world.patched] == ["r-0-worker-0", "r-0-worker-1"]
    patch = world.patched[0][1]
    (condition,) = patch["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "Unschedulable",
    )
    assert condition["message"] == WHY[0].what
    assert json.loads(patch["metadata"]["annotations"][labels.REASON])[0]["code"] == "nodes-gpu"
    assert patch["metadata"]["resourceVersion"] == "1", "a pod that was bound meanwhile is not written to"
    assert world.kept == [("r", ["nodes-gpu"])]


def test_what_is_there_already_is_not_written_again() -> None:
    world = World(pod("r"))
    world.teller.tell(waits(world.gang("r")))
    world.work(lambda: bool(world.kept))
    world.teller.tell(waits(world.gang("r")))
    world.work(lambda: not world.teller._open)
    time.sleep(0.02)
    assert len(world.patched) == len(world.kept) == 1


def test_a_place_takes_the_reasons_back_with_the_bind() -> None:
    world = World(pod("r"))
    gang = world.gang("r")
    assert world.teller.notes(gang.pods[0]) is None
    world.teller.tell(waits(gang))
    world.work(lambda: bool(world.kept))
    assert world.teller.notes(gang.pods[0]) == {labels.REASON: "[]"}
    world.teller.tell(Decisions(placed=[(gang, list(gang.pods))]))
    world.work(lambda: len(world.kept) == 2)
    assert world.kept[-1] == ("r", [])


def test_reasons_are_worked_out_for_some_at_once_and_for_each_only_now_and_then() -> None:
    world = World(*(pod(f"r{i}") for i in range(50)))
    gangs = [world.gang(f"r{i}") for i in range(50)]
    assert sum(world.teller.why(g) for g in gangs) == AT_ONCE
    world.teller.tell(Decisions())
    assert sum(world.teller.why(g) for g in gangs) == AT_ONCE
    world.teller.tell(Decisions())
    assert sum(world.teller.why(g) for g in gangs) == 50 - 2 * AT_ONCE
    world.teller.tell(Decisions())
    assert not any(world.teller.why(g) for g in gangs), "half a minute has to pass"


def test_what_has_just_come_is_not_reported_of() -> None:
    world = World(pod("r"), patience=0.05)
    gang = world.gang("r")
    assert not world.teller.why(gang)
    time.sleep(0.06)
    assert world.teller.why(gang)


def test_writes_are_bounded_in_time() -> None:
    world = World(*(pod("r", i, size=10) for i in range(10)), rate=50.0)
    began = time.monotonic()
    world.teller.tell(waits(world.gang("r")))
    world.work(lambda: len(world.patched) == 10)
    assert time.monotonic() - began >= 9 / 50


def test_a_pod_that_cannot_be_written_to_stops_nothing() -> None:
    world = World(pod("r"), fails=Conflict("changed", code=409))
    world.teller.tell(waits(world.gang("r")))
    world.work(lambda: bool(world.kept))


def test_a_database_that_is_away_stops_nothing() -> None:
    world = World(pod("r"), pod("s"))

    def away(run: str, reasons: Sequence[Problem]) -> None:
        raise ApiError(503, WHY[0])

    world.waits_for = away  # type: ignore[method-assign]
    world.teller._database = world
    for name in ("r", "s"):
        world.teller.tell(waits(world.gang(name)))
    world.work(lambda: len(world.patched) == 2)


def test_the_time_of_the_condition_stays_while_it_stays() -> None:
    thing = pod("r")
    thing["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"},
        {"type": "Other", "status": "True"},
    ]
    made = body(thing, "[]", WHY)["status"]["conditions"]
    assert [c["type"] for c in made] == ["Other", "PodScheduled"]
    assert made[1]["lastTransitionTime"] == "2020-01-01T00:00:00Z"


def test_a_message_is_bounded() -> None:
    many = [Problem("x", "a sentence. " * 50)] * 20
    (condition,) = body(pod("r"), "[]", many)["status"]["conditions"]
    assert len(condition["message"]) == 1000
