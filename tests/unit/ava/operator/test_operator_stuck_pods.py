"""Pods that should be gone and are not, dead nodes, and what belongs to no run (A-SC2)."""

import asyncio
import time

from ava.domain.model import Outcome, Phase
from ava.kube.resources import PODS
from ava.operator.controller import Controller
from tests.unit.ava.operator.fake_cluster import in_room, operating, settings, start


def test_a_pod_that_stays_on_a_living_node_is_reported_about_and_left_alone(db):
    async def test(room):
        run = start(db, command=["sleep"], roles=[{"name": "worker"}])
        await room.until(lambda: room.phases(run) == ["Running"])
        room.nodes.deaf = set(room.nodes.names)
        db.runs.stop(run.id, run.admitted, by="ann")
        await room.until(lambda: [p.reason for p in db.pods.list([run.id])[run.id]] == ["Stuck"])
        await asyncio.sleep(1.0)
        assert len(room.pods(run)) == 1
        assert room.run(run).phase is Phase.ADMITTED

    in_room(db, test)


def test_where_the_site_says_so_it_is_forgotten_after_a_time(db):
    async def test(room):
        run = start(db, command=["sleep"])
        await room.until(lambda: room.phases(run) == ["Running"])
        room.nodes.deaf = set(room.nodes.names)
        began = time.monotonic()
        db.runs.stop(run.id, run.admitted, by="ann")
        await room.until(lambda: room.finished(run))
        assert time.monotonic() - began > settings().pods.grace + 1

    in_room(db, test, config=settings(force=1.0))


def test_pods_of_a_node_that_died_are_lost_and_their_run_goes_on_elsewhere(db):
    async def test(room):
        run = start(db, command=["sleep"], retries=1)
        await room.until(lambda: room.phases(run) == ["Running"])
        node = db.pods.list([run.id])[run.id][0].node
        room.nodes.deaf = {node}
        await room.nodes.ready(node, "Unknown")
        await room.until(lambda: room.run(run).attempt == 1)
        room.nodes.names.remove(node)
        await room.until(lambda: room.phases(run) in (["Running"], ["Pending"], []))

    in_room(db, test, nodes=3)


def test_a_run_without_retries_is_lost_with_its_node(db):
    async def test(room):
        run = start(db, command=["sleep"])
        await room.until(lambda: room.phases(run) == ["Running"])
        node = db.pods.list([run.id])[run.id][0].node
        room.nodes.deaf = {node}
        await room.nodes.ready(node, "Unknown")
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.LOST
        assert f"on {node}: its node does not answer" in room.run(run).reason
        assert room.left() == []

    in_room(db, test, nodes=3)


def test_where_most_nodes_are_silent_none_is_called_dead(db):
    async def test(room):
        run = start(db, command=["sleep"], retries=3)
        await room.until(lambda: room.phases(run) == ["Running"])
        room.nodes.deaf = set(room.nodes.names)
        for name in room.nodes.names:
            await room.nodes.ready(name, "Unknown")
        await room.until(lambda: [p.reason for p in db.pods.list([run.id])[run.id]] == ["NodeLost"])
        await asyncio.sleep(3.0)
        assert room.run(run).attempt == 0
        assert len(room.pods(run)) == 1

    in_room(db, test, nodes=3)


def test_what_belongs_to_no_run_goes_and_what_is_not_ours_stays(db):
    async def test(room):
        run = start(db, command=["sleep"])
        await room.until(lambda: room.phases(run) == ["Running"])

        def thing(name, **marks):
            labels = {"ava.io/run": "r0000000000zz", "ava.io/group": "vision"} | marks
            return {
                "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [], "schedulerName": "other"},
            }

        await room.client.create(
            PODS, thing("ours", **{"ava.io/managed": "true", "ava.io/attempt": "0"}), "ava-vision"
        )
        await room.client.create(PODS, thing("theirs"), "ava-vision")
        await room.until(lambda: ("ava-vision", "ours") not in room.api.collections["pods"])
        await asyncio.sleep(1.0)
        assert ("ava-vision", "theirs") in room.api.collections["pods"]
        assert room.phases(run) == ["Running"]

    in_room(db, test)


def test_what_an_earlier_leader_made_after_the_end_of_a_run_goes(db):
    async def test(room):
        run = start(db, command=["exit-0"])
        async with operating(room.client, db):
            await room.until(lambda: room.finished(run))
        late = {
            "ava.io/managed": "true",
            "ava.io/run": run.id,
            "ava.io/attempt": "0",
            "ava.io/group": "vision",
        }
        body = {"metadata": {"name": f"{run.id}-0-worker-0", "labels": late}, "spec": {"containers": []}}
        await room.client.create(PODS, body, "ava-vision")
        async with operating(room.client, db) as controller:
            assert isinstance(controller, Controller)
            await room.until(lambda: not room.left())

    in_room(db, test, operator=False)


def test_runs_of_another_cluster_and_their_messages_are_left_to_its_operator(db):
    async def test(room):
        run = start(db, command=["exit-0"])
        other = settings().model_copy(update={"cluster": "north"})
        async with operating(room.client, db, other):
            await asyncio.sleep(1.0)
        assert room.run(run).phase is Phase.ADMITTED
        assert room.api.all("pods") == []
        async with operating(room.client, db):
            await room.until(lambda: room.finished(run))

    in_room(db, test, operator=False)
