"""Objects of Kubernetes tenants that carry AVA's labels: the operator does not believe them."""

import asyncio

from ava.domain import labels
from ava.kube.resources import NAMESPACES, PODS
from tests.unit.ava.kube.fake_api import Fault
from tests.unit.ava.operator.fake_cluster import in_room, start


def forged(run, kind="pod", space="team-a", **status):
    """Return a tenant's object that says that it is of a run."""
    marks = {
        labels.MANAGED: "true",
        labels.RUN: run,
        labels.GROUP: "vision",
        labels.ROLE: "worker",
        labels.INDEX: "0",
        labels.ATTEMPT: "0",
    }
    meta = {"name": f"forged-{kind}", "namespace": space, "labels": marks}
    return {"metadata": meta, "spec": {"containers": []}, "status": status}


def test_a_tenants_failed_pod_does_not_end_a_run_or_keep_its_charge(db):
    async def test(room):
        run = start(db, command=["sleep"], roles=[{"name": "worker", "replicas": 1}])
        await room.until(lambda: room.phases(run) == ["Running"])
        await room.client.create(NAMESPACES, {"metadata": {"name": "team-a"}})
        await room.api.put("pods", forged(run.id, phase="Failed"))
        await asyncio.sleep(1.5)
        assert not room.finished(run)
        assert room.phases(run) == ["Running"]
        assert room.run(run).attempt == 0
        # The end waits for the run's own pods alone.
        db.runs.stop(run.id, run.admitted, by="ann")
        await room.until(lambda: room.finished(run))
        assert [c.ended is not None for c in db.charges.list(run=run.id)] == [True]
        assert len(room.api.all("pods")) == 1, "a tenant's pod is not the operator's to remove"

    in_room(db, test)


def test_tenants_objects_of_no_run_do_not_stop_the_clean_up(db):
    async def test(room):
        def refuse(method, path):
            if method == "DELETE" and "/namespaces/team-a/" in path:
                raise Fault(403, "Forbidden")

        room.api.before = refuse
        for space in ("team-a", "ava-vision"):
            await room.client.create(NAMESPACES, {"metadata": {"name": space}})
        # In team-a it would be met first, and refused.
        await room.api.put("pods", forged("r-gone", space="team-a"))
        await room.api.put("services", forged("r-gone", "service", space="team-a"))
        orphan = forged("r-gone", "orphan", space="ava-vision")
        await room.client.create(PODS, orphan, "ava-vision")
        await room.until(lambda: [p["metadata"]["name"] for p in room.api.all("pods")] == ["forged-pod"])

    in_room(db, test)


def test_a_first_run_waits_for_the_rights_in_its_new_namespace_and_says_so(db, monkeypatch):
    async def test(room):
        refused, faults = [], []
        monkeypatch.setattr(
            "ava.operator.work_queue.WorkQueue.retry", lambda self, key: faults.append(key) or 0.1
        )

        def refuse(method, path):
            if (
                method == "POST"
                and path.endswith("/namespaces/ava-vision/networkpolicies")
                and len(refused) < 4
            ):
                refused.append(path)
                raise Fault(403, "Forbidden")

        room.api.before = refuse
        run = start(db, command=["sleep"])
        await room.until(lambda: len(refused) >= 2)
        (why,) = room.run(run).waits_for
        assert why["code"] == "pods-not-made" and why["what"] == (
            "the namespace of the group vision is being prepared"
        )
        await room.until(lambda: room.phases(run) == ["Running"])
        assert room.run(run).waits_for == ()
        # Looked at again as a run whose folders are being made, not by the growing waits of a fault.
        assert not faults

    in_room(db, test)


def test_rights_that_are_gone_from_an_older_namespace_are_reported_with_the_answer(db, monkeypatch):
    async def test(room):
        def refuse(method, path):
            if method == "POST" and path.endswith("/networkpolicies"):
                raise Fault(403, "Forbidden")

        monkeypatch.setattr("ava.operator.run_objects.NEW", 0.0)
        room.api.before = refuse
        run = start(db, command=["sleep"])
        await room.until(lambda: "403" in str(room.run(run).waits_for))

    in_room(db, test)
