"""Services on a real API server of 1.9.11 with hollow nodes: a hundred of them, updated, scaled, healed, and gone."""

import asyncio

import pytest

from ava.domain.model import Kind, Outcome
from ava.domain.resources import Resources
from ava.kube.client import Client
from ava.kube.resources import INGRESSES, NETWORK_POLICIES, PODS, SERVICES
from tests.platform.hollow import Hollow
from tests.platform.operator.test_platform_operator import SPACE, until
from tests.unit.ava.operator.fake_cluster import now, operating, start
from tests.unit.ava.operator.test_operator_model_services import config, document, serve

MANY = 100
EACH = Resources(0, 1000, 2**30)


def on_server(apiserver, db, test, seconds):
    async def go():
        async with (
            Client(apiserver.access) as client,
            Client(apiserver.access) as other,
            Hollow(other, 4).running() as nodes,
            operating(client, db, config()) as operator,
            asyncio.timeout(seconds),
        ):
            await test(client, nodes, operator)

    asyncio.run(go())


async def there(client, kind):
    found, _ = await client.list(kind, SPACE, labels="ava.io/kind=service" if kind is PODS else "ava.io/run")
    return found


def revisions(pods):
    return sorted(int(p["metadata"]["labels"]["ava.io/attempt"]) for p in pods)


@pytest.mark.slow
def test_a_hundred_services_are_served_updated_scaled_and_stopped(apiserver, db):
    async def test(client, nodes, operator):
        runs = [start(db, kind=Kind.SERVICE, name=f"s{n}", **serve(replicas=1)) for n in range(MANY)]

        async def serving(wanted, only=None):
            pods = db.pods.list([run.id for run in only or runs])
            return [sum(p.ready for p in some) for some in pods.values()] == [wanted] * len(pods)

        await until(lambda: serving(1))
        hosts = {i["spec"]["rules"][0]["host"] for i in await there(client, INGRESSES)}
        assert len(hosts) == MANY and all(host.endswith(".services.test") for host in hosts)
        some = runs[:10]
        for run in some:
            db.model_services.update(run.id, document(replicas=1, image="good:2"), now())
            db.model_services.scale(run.id, 3, now())

        async def updated():
            known = [db.model_services.get(run.id) for run in some]
            return all(s.settled == 1 for s in known) and await serving(3, some)

        await until(updated)

        async def only_new():
            marked = [p for p in await there(client, PODS) if p["metadata"]["labels"]["ava.io/run"] in ids]
            return revisions(marked) == [1] * 30

        ids = {run.id for run in some}
        await until(only_new)

        async def charged():
            return db.groups.get("vision").used == EACH.times(MANY - 10 + 30)

        await until(charged)
        for run in runs:
            db.runs.stop(run.id, now(), by="ann")

        async def ended():
            return all(db.runs.get(run.id).outcome is Outcome.STOPPED for run in runs)

        await until(ended)
        left = [len(await there(client, kind)) for kind in (PODS, SERVICES, INGRESSES, NETWORK_POLICIES)]
        assert left == [0, 0, 0, 0]
        assert db.groups.get("vision").used == Resources()
        assert nodes.errors == []

    on_server(apiserver, db, test, 280)


def test_what_this_server_keeps_of_a_replica_is_what_was_meant(apiserver, db):
    async def test(client, nodes, operator):
        run = start(db, kind=Kind.SERVICE, name="one", **serve(replicas=1, metrics="/metrics"))

        async def ready():
            return [p.ready for p in db.pods.list([run.id])[run.id]] == [True]

        await until(ready)
        (pod,) = await there(client, PODS)
        main = pod["spec"]["containers"][0]
        assert pod["spec"]["restartPolicy"] == "Always"
        assert main["readinessProbe"]["httpGet"]["port"] == "serve"
        assert main["livenessProbe"]["initialDelaySeconds"] == 5
        assert pod["metadata"]["annotations"]["prometheus.io/path"] == "/metrics"
        policies = {p["metadata"]["name"]: p["spec"] for p in (await client.list(NETWORK_POLICIES, SPACE))[0]}
        sources = [rule["from"] for rule in policies[f"run-{run.id}-serve"]["ingress"]]
        assert sources == [[{"ipBlock": {"cidr": "10.0.0.1/32"}}], [{"ipBlock": {"cidr": "10.0.0.2/32"}}]]
        db.runs.stop(run.id, now(), by="ann")

        async def ended():
            return db.runs.get(run.id).finished is not None

        await until(ended)

    on_server(apiserver, db, test, 60)
