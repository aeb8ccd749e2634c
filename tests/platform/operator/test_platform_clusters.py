"""Two clusters behind one database: two real API servers with nodes, an operator and a scheduler each."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta

import pytest

from ava.domain.model import Kind, Outcome, Phase
from ava.domain.placement.capacity import part
from ava.domain.spec import Spec
from ava.domain.states import State, show, watcher
from ava.kube.client import Client
from ava.kube.resources import NODES, PODS
from ava.operator import cluster as operated
from ava.operator import controller
from ava.scheduler import admission, leader_session
from ava.scheduler.config import Config as SchedulerConfig
from ava.scheduler.leader_session import LeaderSession
from ava.scheduler.metrics import Metrics
from tests.platform.apiserver import api_server
from tests.platform.hollow import Hollow
from tests.platform.operator.test_platform_operator import SPACE
from tests.unit.ava.operator.fake_cluster import now, operating, settings

pytestmark = pytest.mark.slow
SILENT = 6.0
"""Seconds after which a cluster counts as away here (in a room 45 to 60)."""


async def until(wanted, seconds=40):
    async with asyncio.timeout(seconds):
        while not await wanted():
            await asyncio.sleep(0.1)


@pytest.fixture(scope="module")
def east():
    with api_server() as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for module in (leader_session, operated):
        # A watch in which nothing happens must end before its silence counts.
        monkeypatch.setattr(module, "LOOK", 2)
    monkeypatch.setattr(controller, "DEAF", SILENT)
    monkeypatch.setattr(leader_session, "STALE", SILENT)
    monkeypatch.setattr(admission, "FRESH", timedelta(seconds=SILENT))


def submit(db, name, cluster, cpu=1000):
    spec = {"image": "i", "command": ["sleep"], "cluster": cluster, "roles": [{"each": {"cpu": cpu}}]}
    reply = Spec.model_validate(spec)
    plain = reply.model_dump(mode="json")
    made = db.definitions.save("ann", Kind.TRAINING, name, plain, now())
    return db.runs.create(
        made.id, name, now(), asks=reply.asks(), spec=plain, queue="default", priority=50, cluster=cluster
    )


def shown(db, run):
    run = db.runs.get(run.id)
    sign = db.heartbeats.list().get(watcher(run.cluster))
    pods = db.pods.list([run.id])[run.id]
    return show(run, pods, now(), sign[0] if sign else None, timedelta(seconds=SILENT)).state


@asynccontextmanager
async def cluster(server, db, name, cpu):
    """Run a cluster of one node with its operator and scheduler; gives its client and nodes."""
    async with AsyncExitStack() as stack:
        client, other, third = [await stack.enter_async_context(Client(server.access)) for _ in range(3)]
        nodes = Hollow(other, 1)
        nodes.binds = False
        await stack.enter_async_context(nodes.running())
        room = {"cpu": str(cpu), "memory": "64Gi", "pods": "100"}
        report = {"status": {"capacity": room, "allocatable": room}}
        await other.patch(NODES, "node-0", report, sub="status")
        made = settings().model_copy(update={"cluster": name})
        await stack.enter_async_context(operating(client, db, made))
        config = SchedulerConfig(cluster=name, poll=0.3, sign=0.5, tell=1.0)
        task = asyncio.create_task(LeaderSession(third, db, config, Metrics(), name).run())
        try:
            yield client
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, ExceptionGroup):
                await task


def test_users_choose_or_let_choose_and_a_cluster_that_is_away_is_reported_as_such(apiserver, east, db):
    async def test():
        async with (
            asyncio.timeout(170),
            cluster(apiserver, db, "west", cpu=4) as west,
            cluster(east, db, "east", cpu=16) as far,
        ):

            async def running(*runs):
                return all(shown(db, run) is State.RUNNING for run in runs)

            async def rooms():
                return {part("west"), part("east")} <= set(db.heartbeats.list())

            await until(rooms)
            chosen = submit(db, "chosen", "west"), submit(db, "far", "east")
            big = submit(db, "big", "any", cpu=8000)
            await until(lambda: running(*chosen, big))
            assert [db.runs.get(r.id).cluster for r in (*chosen, big)] == ["west", "east", "east"]

            async def there(client, run):
                return len((await client.list(PODS, SPACE, labels=f"ava.io/run={run.id}"))[0])

            assert [await there(west, r) for r in (*chosen, big)] == [1, 0, 0]
            assert [await there(far, r) for r in (*chosen, big)] == [0, 1, 1]
            # What is used is one account, whichever cluster it is in.
            assert db.groups.get("vision").used.cpu == 10_000

            await asyncio.to_thread(east.stop)

            async def unknown():
                return [shown(db, r) for r in (chosen[1], big)] == [State.UNKNOWN] * 2

            await until(unknown)
            assert await running(chosen[0])

            async def forgotten():
                return now() - db.heartbeats.list()[part("east")][0] > timedelta(seconds=SILENT)

            await until(forgotten)
            new = [submit(db, f"new{n}", "any") for n in range(2)]
            named = submit(db, "named", "east")
            await until(lambda: running(*new))
            assert {db.runs.get(r.id).cluster for r in new} == {"west"}
            # Nothing of what is away has ended or is free again, and what names it waits and says why.
            assert [db.runs.get(r.id).phase for r in (chosen[1], big)] == [Phase.ADMITTED] * 2
            assert db.groups.get("vision").used.cpu == 12_000

            async def reported():
                return [p["code"] for p in db.runs.get(named.id).waits_for] == ["cluster-silent"]

            await until(reported)

            await asyncio.to_thread(east.start)
            await until(lambda: running(chosen[1], big, named))
            for run in (*chosen, big, *new, named):
                db.runs.stop(run.id, now(), by="ann")

            async def ended():
                return all(db.runs.get(r.id).outcome is Outcome.STOPPED for r in (*chosen, big, *new, named))

            await until(ended)
            assert db.groups.get("vision").used.cpu == 0

    asyncio.run(test())
