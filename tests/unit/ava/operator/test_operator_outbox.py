"""Messages of another cluster that is away do not hide this one's."""

import asyncio
from types import SimpleNamespace

from sqlalchemy import text

from ava.domain import labels
from ava.kube import resources
from ava.operator import outbox
from ava.operator.cluster import Cluster
from ava.operator.db_executor import DbExecutor
from ava.operator.work_queue import WorkQueue
from tests.unit.ava.operator.fake_cluster import furnish, start


def test_messages_of_a_cluster_that_is_away_are_not_read(db, monkeypatch):
    monkeypatch.setattr(outbox, "AT_ONCE", 2)
    monkeypatch.setattr(outbox, "POLL", 0.05)
    furnish(db)
    for n in range(5):
        start(db, name=f"away-{n}")
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET cluster = 'far'"))
    mine = start(db, name="mine")
    read = []

    class Counting:
        def list_open(self, *args):
            found = db.outbox.list_open(*args)
            read.extend(found)
            return found

        def complete(self, *args):
            db.outbox.complete(*args)

        def wait(self, *args):
            return db.outbox.wait(*args)

    async def go() -> str:
        queue, threads = WorkQueue(), DbExecutor(1)
        box = outbox.Outbox(SimpleNamespace(outbox=Counting()), threads, queue, "default")
        await box.take()
        async with asyncio.timeout(2):
            found = await queue.get()
        threads.close()
        return found

    assert asyncio.run(go()) == mine.id
    assert {message.object for message in read if message.kind.startswith("run-")} == {mine.id}


def test_a_runs_objects_are_found_without_looking_at_all_users():
    cluster = Cluster(SimpleNamespace())
    looked = []
    for n in range(200):
        for kind in (resources.PODS, resources.SERVICES):
            meta = {
                "name": f"x{n}",
                "namespace": "ava-vision",
                "uid": f"u{n}",
                "resourceVersion": "1",
                "labels": {labels.RUN: f"r{n}", labels.MANAGED: "true", labels.GROUP: "vision"},
            }
            cluster.made[kind]._seen = "0"  # type: ignore[union-attr]
            cluster.made[kind].put({"metadata": meta})
    for kind in (resources.PODS, resources.SERVICES):
        cluster.made[kind].select = looked.append  # type: ignore[method-assign]
    assert [(kind.plural, thing["metadata"]["name"]) for kind, thing in cluster.of_run("r7")] == [
        ("pods", "x7"),
        ("services", "x7"),
    ]
    assert looked == []
