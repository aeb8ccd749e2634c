"""Services: updated without a gap, scaled, healed, and charged for what is there."""

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from ava.domain.model import Kind, Outcome
from ava.domain.resources import Resources
from ava.domain.spec import Spec
from ava.kube.resources import PODS
from ava.operator.config import Config
from tests.unit.ava.operator.fake_cluster import in_room, now, operating, settings, start

EACH = {"cpu": 1000, "memory": 2**30}
ONE = Resources(0, 1000, 2**30)


def serve(replicas=2, image="good:1", **more):
    serving = {"model": "/m", "starts_in": 5} | more
    return {
        "image": image,
        "command": ["serve"],
        "roles": [{"name": "worker", "replicas": replicas, "each": EACH}],
        "serving": serving,
    }


def document(**more):
    return Spec.model_validate({"kind": "service"} | serve(**more)).model_dump(mode="json")


def config(**more):
    reply = settings(drain=0.3).model_dump()
    reply["services"] = {
        "domain": "services.test",
        "notes": {"traefik.ingress.kubernetes.io/router.tls": "true"},
        "middlewares": {"group": "members@file", "public": "anybody@file"},
    }
    reply["network"]["web"] = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    reply["network"]["scrapers"] = [{"ipBlock": {"cidr": "10.0.0.2/32"}}]
    return Config.model_validate(reply | more)


def serving(room, run):
    """Return revision of each replica that requests are sent to and that answers."""
    return sorted(
        int(p["metadata"]["labels"]["ava.io/attempt"])
        for p in room.pods(run)
        if p["metadata"]["labels"].get("ava.io/serves") == "true"
        and not p["metadata"].get("deletionTimestamp")
        and any(c["status"] == "True" for c in p.get("status", {}).get("conditions", []))
    )


@contextmanager
def watched(room, run):
    """Keep how many replicas serve after each write."""
    real, found = room.api._write, []

    async def write(*args):
        done = await real(*args)
        found.append(len(serving(room, run)))
        return done

    room.api._write = write
    yield found
    room.api._write = real


def good(pod):
    return pod["spec"]["containers"][0]["image"].startswith("good")


def in_service(db, test, **more):
    async def go(room):
        room.nodes.serves = good
        run = start(db, kind=Kind.SERVICE, name="mnist", **serve(**more))
        if good({"spec": {"containers": [{"image": more.get("image", "good:1")}]}}):
            await room.until(lambda: len(serving(room, run)) == more.get("replicas", 2))
        await test(room, run)

    in_room(db, go, config=config())


def charged(db, run):
    (charge,) = db.charges.list(run=run.id, open_only=True)
    return charge.amount


def test_replicas_are_asked_for_their_health_and_are_started_again_whatever_they_end_with(db):
    async def test(room, run):
        pod = room.pods(run)[0]
        main = pod["spec"]["containers"][0]
        assert pod["spec"]["restartPolicy"] == "Always"
        assert main["readinessProbe"]["httpGet"] == {"path": "/", "port": "serve"}
        assert main["livenessProbe"]["initialDelaySeconds"] == 5
        assert {e["name"]: e["value"] for e in main["env"]}["AVA_MODEL"] == "/m"
        assert charged(db, run) == ONE.times(2)

    in_service(db, test)


def test_requests_come_by_its_own_host_name_alone_and_from_the_ingress_alone(db):
    async def test(room, run):
        (ingress,) = room.api.all("ingresses")
        (rule,) = ingress["spec"]["rules"]
        assert rule["host"].startswith("mnist-") and rule["host"].endswith(".services.test")
        assert rule["http"]["paths"] == [
            {"path": "/", "backend": {"serviceName": f"run-{run.id}-serve", "servicePort": 80}}
        ]
        notes = ingress["metadata"]["annotations"]
        assert notes["traefik.ingress.kubernetes.io/router.middlewares"] == "members@file"
        policies = {p["metadata"]["name"]: p["spec"] for p in room.api.all("networkpolicies")}
        assert policies[f"run-{run.id}-serve"]["ingress"] == [
            {"from": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [{"protocol": "TCP", "port": 8080}]}
        ]
        db.model_services.update(run.id, document(access="public"), now())
        key = "traefik.ingress.kubernetes.io/router.middlewares"
        await room.until(
            lambda: room.api.all("ingresses")[0]["metadata"]["annotations"][key] == "anybody@file"
        )
        assert {p["metadata"]["labels"]["ava.io/attempt"] for p in room.pods(run)} == {"0"}
        db.runs.stop(run.id, now(), by="ann")
        await room.until(lambda: room.finished(run))
        assert room.left() == [] and room.api.all("ingresses") == []

    in_service(db, test)


def test_an_update_never_has_fewer_replicas_serve_and_gives_back_what_it_took(db):
    async def test(room, run):
        with watched(room, run) as found:
            db.model_services.update(run.id, document(replicas=3, image="good:2"), now())
            await room.until(lambda: db.model_services.get(run.id).settled == 1 and len(room.pods(run)) == 3)
        assert min(found) >= 3 and max(found) <= 4
        assert serving(room, run) == [1, 1, 1]
        await room.until(lambda: charged(db, run) == ONE.times(3))
        assert [c.amount.cpu for c in db.charges.list(run=run.id)] == [3000, 4000, 3000]
        names = {s["metadata"]["name"] for s in room.api.all("configmaps")}
        await room.until(
            lambda: f"run-{run.id}-0" not in {s["metadata"]["name"] for s in room.api.all("configmaps")}
        )
        assert f"run-{run.id}-1" in names

    in_service(db, test, replicas=3)


def test_a_bad_update_stops_and_is_reported_and_the_old_definition_takes_it_back(db):
    async def test(room, run):
        db.model_services.update(run.id, document(image="bad:1"), now())
        await room.until(lambda: len(room.pods(run)) == 3)

        def new():
            return [p for p in room.pods(run) if p["metadata"]["labels"]["ava.io/attempt"] == "1"]

        await room.until(lambda: new()[0].get("status", {}).get("phase") == "Running")
        (bad,) = new()
        status = bad.get("status", {}) | {
            "containerStatuses": [{"name": "main", "restartCount": 3, "state": {}}]
        }
        await room.client.patch(PODS, bad["metadata"]["name"], {"status": status}, "ava-vision", sub="status")
        await room.until(lambda: "stopped" in db.model_services.get(run.id).trouble)
        assert db.runs.get(run.id).waits_for[0]["code"] == "service-update-stopped"
        await asyncio.sleep(0.5)
        assert (serving(room, run), len(room.pods(run))) == ([0, 0], 3)
        db.model_services.update(run.id, document(), now())
        await room.until(lambda: len(room.pods(run)) == 2)
        assert serving(room, run) == [0, 0]
        await room.until(
            lambda: db.model_services.get(run.id).trouble == "" and db.runs.get(run.id).waits_for == ()
        )
        await room.until(lambda: charged(db, run) == ONE.times(2))

    in_service(db, test)


def test_it_is_scaled_both_ways_and_charged_for_what_is_there(db):
    async def test(room, run):
        db.model_services.scale(run.id, 5, now())
        await room.until(lambda: len(serving(room, run)) == 5)
        assert charged(db, run) == ONE.times(5)
        with watched(room, run) as found:
            db.model_services.scale(run.id, 1, now())
            await room.until(lambda: len(room.pods(run)) == 1)
        assert min(found) == 1
        await room.until(lambda: charged(db, run) == ONE)
        assert db.groups.get("vision").used == ONE

    in_service(db, test)


def test_what_the_quota_has_no_room_for_waits_and_says_so(db):
    async def test(room, run):
        quota = db.groups.get("vision").quota
        db.model_services.scale(run.id, 4, now())
        await room.until(lambda: len(serving(room, run)) == 4)
        db.groups.set_quota("vision", replace(quota, cpu=4000), now())
        db.model_services.update(run.id, document(replicas=4, image="good:2"), now())
        await room.until(lambda: db.runs.get(run.id).waits_for != ())
        assert db.runs.get(run.id).waits_for[0]["code"] == "service-waits"
        assert serving(room, run) == [0] * 4
        db.groups.set_quota("vision", quota, now())
        await room.until(
            lambda: db.model_services.get(run.id).settled == 1 and serving(room, run) == [1] * 4, 30
        )
        await room.until(lambda: db.runs.get(run.id).waits_for == ())

    in_service(db, test)


def test_a_load_for_which_there_can_never_be_quota_hinders_nothing_else(db):
    async def test(room):
        room.nodes.serves = good
        bounds = {"least": 2, "most": 100, "requests": 1}
        run = start(db, kind=Kind.SERVICE, name="mnist", **serve(scaling=bounds))
        async with operating(room.client, db, config()) as operator:
            await room.until(lambda: len(serving(room, run)) == 2)
            db.groups.set_quota("vision", replace(db.groups.get("vision").quota, cpu=3000), now())
            load = operator.reconciler.replicas.load
            load.rate = lambda _: 3.0
            # The last change was long enough ago.
            db.model_services.update(run.id, document(scaling=bounds), now())
            scaled = db.model_services.get(run.id).scaled
            operator.reconciler.now = lambda: scaled + timedelta(minutes=10)
            await room.until(lambda: len(serving(room, run)) == 3)
            load.rate = lambda _: 1000.0
            operator.reconciler.now = lambda: scaled + timedelta(minutes=30)
            db.model_services.update(run.id, document(image="good:2", scaling=bounds, replicas=3), now())
            await room.until(lambda: db.model_services.get(run.id).target == 1)
            await room.client.delete(PODS, room.pods(run)[0]["metadata"]["name"], "ava-vision", grace=0)
            await room.until(lambda: len(serving(room, run)) == 3)
            assert db.model_services.get(run.id).wanted == 3

    in_room(db, test, operator=False)


def test_a_replica_that_is_killed_or_evicted_is_made_again(db):
    async def test(room, run):
        killed, evicted = (p["metadata"]["name"] for p in room.pods(run))
        await room.client.delete(PODS, killed, "ava-vision", grace=0)
        status = {"status": {"phase": "Failed", "reason": "Evicted", "conditions": []}}
        await room.client.patch(PODS, evicted, status, "ava-vision", sub="status")
        await room.until(lambda: len(serving(room, run)) == 2 and len(room.pods(run)) == 2)
        await room.until(lambda: charged(db, run) == ONE.times(2))
        assert db.runs.get(run.id).outcome is None

    in_service(db, test)


def test_an_operator_that_begins_again_in_the_middle_of_an_update_ends_it(db):
    async def test(room):
        room.nodes.serves = good
        run = start(db, kind=Kind.SERVICE, name="mnist", **serve())
        async with operating(room.client, db, config()):
            await room.until(lambda: len(serving(room, run)) == 2)
            db.model_services.update(run.id, document(image="good:2"), now())
            await room.until(lambda: 1 in serving(room, run))
        with watched(room, run) as found:
            async with operating(room.client, db, config()):
                await room.until(lambda: serving(room, run) == [1, 1] and len(room.pods(run)) == 2, 30)
        assert min(found) >= 2

    in_room(db, test, operator=False)


def test_one_that_cannot_be_served_here_ends_with_the_reason(db):
    async def test(room):
        run = start(db, kind=Kind.SERVICE, name="mnist", **serve())
        await room.until(lambda: room.finished(run))
        assert db.runs.get(run.id).outcome is Outcome.FAILED
        assert "cannot serve to group" in db.runs.get(run.id).reason
        assert room.left() == []

    in_room(db, test, config=config(services={"domain": "services.test"}))
