"""The program on a real API server 1.9.11, with an account that may do only what it needs."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.request
from datetime import UTC, datetime

import pytest

from ava.domain import labels
from ava.domain.model import Kind, Quota, UserState
from ava.domain.placement.capacity import rooms
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.resources import Resources
from ava.domain.spec import Amount, Role, Spec
from bench import hollow

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def submitted(world, name: str, gpu: int, replicas: int = 1, cluster: str = "default") -> str:
    """Submit a run in the database; return its id."""
    db = world.db
    if not db.groups.list().items:
        db.groups.create("bench", Quota(gpu=8, cpu=None, memory=None), NOW)
        db.users.create("ann", "ann@example.org", "hash", NOW, state=UserState.ACTIVE)
        db.groups.add_member("bench", "ann", NOW)
    spec = Spec(image="i", roles=(Role(replicas=replicas, each=Amount(gpu=gpu)),), cluster=cluster)
    plain = spec.model_dump(mode="json")
    definition = db.definitions.save("ann", Kind.TRAINING, name, plain, NOW).id
    run = db.runs.create(
        definition, name, NOW, asks=spec.asks(), spec=plain, queue="default", priority=50, cluster=cluster
    )
    return str(run.id)


async def admitted(world, *runs: str) -> bool:
    return all(world.db.runs.get(run).admitted for run in runs)


def test_from_the_database_to_the_node(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8), hollow.node("c0", gpu=0)])
        first, second = submitted(world, "first", 4), submitted(world, "second", 6)
        world.start()
        await world.until(lambda: admitted(world, first))
        await world.until(lambda: has_reason(world, second))
        run = world.db.runs.get(second)
        assert run.admitted is None
        assert run.waits_for[0]["code"] == "group-quota"

        await hollow.create(world.client, [hollow.pod(first, gpu=4), hollow.pod("cpu", gpu=0)])
        bound = await world.until_bound(2)
        assert set(bound.values()) == {"g0", "c0"}
        assert bound[labels.pod(first, 0, "worker", 0)] == "g0"

        # A third that finds no room says why: on the pod, and its condition is what kubectl shows.
        await hollow.create(world.client, [hollow.pod("full", gpu=5)])
        pod = await world.until(lambda: annotated(world, "full-0-worker-0"))
        (why,) = json.loads(pod["metadata"]["annotations"][labels.REASON])
        assert why["code"] == "nodes-gpu"
        (condition,) = pod["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
        assert "GPU 4 free at most, 5 wanted" in condition["message"]

        # When the first has ended it is placed, and what was stated is taken back with the bind.
        world.db.runs.stop(first, NOW, by="ann")
        await world.client.delete(hollow.PODS, labels.pod(first, 0, "worker", 0), hollow.NAMESPACE, grace=0)
        await world.until_bound(2)
        await world.until(lambda: no_reason(world, "full-0-worker-0"))

    world.run(scene)


async def has_reason(world, run: str) -> bool:
    return bool(world.db.runs.get(run).waits_for)


async def named(world, name: str):
    return next(p for p in await world.pods() if p["metadata"]["name"] == name)


async def annotated(world, name: str):
    pod = await named(world, name)
    return pod if labels.REASON in pod["metadata"]["annotations"] else None


async def no_reason(world, name: str) -> bool:
    pod = await named(world, name)
    return bool(pod["spec"].get("nodeName")) and pod["metadata"]["annotations"].get(labels.REASON) == "[]"


def test_its_sign_of_life_tells_what_could_be_had(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8), hollow.node("c0", gpu=0)])
        world.start()

        async def sign():
            signs = {part: detail for part, (_, detail) in world.db.heartbeats.list().items()}
            return rooms(signs)

        room = (await world.until(sign))["default"]
        assert [(n.name, n.free.gpu) for n in room.nodes] == [("g0", 8), ("c0", 0)]
        big = Spec(image="i", roles=(Role(each=Amount(gpu=9)),))
        assert [p.code for p in infeasible_reasons(big, room, "gpu")] == ["never-fits"]

        text = await asyncio.to_thread(fetch, f"http://127.0.0.1:{world.ports['one']}/metrics")
        assert "ava_scheduler_leads 1.0" in text
        assert 'ava_scheduler_gpus{state="free"} 8.0' in text
        assert await asyncio.to_thread(fetch, f"http://127.0.0.1:{world.ports['one']}/healthz") == "ok"

    world.run(scene)


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as reply:  # noqa: S310 - own loopback
        return str(reply.read().decode())


def test_a_run_for_any_cluster_gets_this_one_and_its_pods_may_come(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8)])
        run = submitted(world, "anywhere", 2, cluster="any")
        elsewhere = submitted(world, "elsewhere", 1, cluster="other")
        world.start()
        await world.until(lambda: admitted(world, run))
        assert world.db.runs.get(run).cluster == "default"
        await world.until(lambda: has_reason(world, elsewhere))
        assert world.db.runs.get(elsewhere).waits_for[0]["code"] == "cluster-silent"

    world.run(scene)


@pytest.mark.slow
def test_the_api_server_may_restart(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8)])
        world.start()
        await hollow.create(world.client, [hollow.pod("a", gpu=1)])
        await world.until_bound(1)
        world.plane.stop("apiserver", kill=True)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(world.plane.start_api)
        await hollow.create(world.client, [hollow.pod("b", gpu=1)])
        await world.until_bound(2)

    world.run(scene)


def test_a_stopped_scheduler_ends_well_and_soon(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8)])
        world.start()
        await hollow.create(world.client, [hollow.pod("a", gpu=1)])
        await world.until_bound(1)
        assert await asyncio.to_thread(world.stop, "one", signal.SIGTERM) == 0
        world.start("two")
        await hollow.create(world.client, [hollow.pod("b", gpu=1)])
        # The lease was given back: no one has to wait for its end.
        await world.until_bound(2, 20)

    world.run(scene)


def test_a_pod_with_the_schedulers_name_from_elsewhere_is_left_alone(world) -> None:
    async def scene() -> None:
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8)])
        stranger = hollow.pod("x", gpu=1)
        stranger["metadata"]["namespace"] = "default"
        await world.client.create(hollow.PODS, stranger, "default")
        world.start()
        await hollow.create(world.client, [hollow.pod("a", gpu=1)])
        await world.until_bound(1)
        await asyncio.sleep(1.0)
        found = await world.client.get(hollow.PODS, "x-0-worker-0", "default")
        assert not found["spec"].get("nodeName")
        await world.client.delete(hollow.PODS, "x-0-worker-0", "default", grace=0)

    world.run(scene)


def test_amounts_of_the_database_are_what_was_asked_for(world) -> None:
    async def scene() -> None:
        run = submitted(world, "two", 2, replicas=3)
        await hollow.create_nodes(world.client, [hollow.node("g0", gpu=8)])
        world.start()
        await world.until(lambda: admitted(world, run))
        assert world.db.groups.get("bench").used == Resources(6, 3000, 3 * 2**30)

    world.run(scene)
