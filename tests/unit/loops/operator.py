"""Loops of the operator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from aiohttp import web

from ava.domain import labels
from ava.domain.model import Kind, Outcome, Topic, UserState
from ava.domain.spec import Spec
from ava.operator import __main__ as operator_program
from ava.operator.config import Notices
from ava.operator.controller import Controller
from ava.operator.db_executor import DbExecutor
from ava.operator.disks import Disks
from ava.operator.metrics import Metrics as OperatorMetrics
from ava.operator.node_drains import NodeDrains
from ava.operator.notifications import Notifier
from ava.operator.outbox import Outbox
from ava.operator.request_load import RequestLoad
from ava.operator.work_queue import WorkQueue
from tests.unit.ava.operator.fake_cluster import now, start
from tests.unit.loops.common import (
    Odd,
    Patch,
    anything,
    bad_first_async,
    called,
    contends,
    opened,
    until,
)

POISON = "=?utf-8?q?=0a?=@x.org"
"""Of which Python's own mail library makes a line break, and raises."""


def courier(tmp_path: Path, monkeypatch: Patch) -> None:
    """The address that ended the operator's leadership again and again: another user's notice comes after it."""
    db, hooked, mailed, threads = opened(tmp_path), list[str](), list[str](), DbExecutor(2)
    monkeypatch.setattr("ava.db.users.email_problems", lambda email, where: [])
    db.users.create("eve", POISON, "hash", now(), state=UserState.ACTIVE, email_confirmed=True)
    db.groups.add_member("vision", "eve", now())
    reply = Spec.model_validate({"image": "i"})
    plain = reply.model_dump(mode="json")
    made = db.definitions.save("eve", Kind.TRAINING, "bad", plain, now())
    more = {"queue": "default", "priority": 50, "cluster": "default"}
    bad = db.runs.create(made.id, "k", now(), asks=reply.asks(), spec=plain, **more)
    for id in (bad.id, start(db, name="good").id):
        db.runs.stop(id, now(), by="x")
        db.runs.finish(id, Outcome.STOPPED, "", now())

    async def post(hook: object, document: dict[str, Any]) -> None:
        hooked.append(document["name"])

    monkeypatch.setattr("ava.operator.notifications.post", post)
    monkeypatch.setattr("ava.operator.notifications.send", lambda mail, what: mailed.append(what["To"]))
    settings = {
        "mail": {"host": "h", "port": 25, "sender": "ava@x.org", "tls": "none"},
        "webhook": {"url": "http://h/"},
    }
    it = Notifier(db, threads, Notices.model_validate(settings), OperatorMetrics("default"))
    until(it.run, lambda: not db.outbox.list_open(Topic.NOTICE))
    threads.close()
    assert hooked == ["bad", "good"] and mailed == ["ann@example.org"]
    db.close()


def work(tmp_path: Path, monkeypatch: Patch) -> None:
    looked: list[str] = []

    async def look(key: str) -> None:
        if key == "bad":
            raise Odd("planted")
        looked.append(key)

    async def end(seqs: object) -> None: ...

    async def go() -> None:
        queue = WorkQueue()
        queue.add("bad")
        queue.add("good")
        it = anything(
            queue=queue,
            reconciler=anything(look=look),
            outbox=anything(begin=lambda key: set(), end=end),
            metrics=OperatorMetrics("default"),
        )
        await Controller._work(it)

    until(go, lambda: looked == ["good"])


def always(tmp_path: Path, monkeypatch: Patch) -> None:
    done: list[Any] = []
    it = anything(metrics=OperatorMetrics("default"))
    until(lambda: Controller._always(it, "x", bad_first_async(done)), lambda: len(done) > 1)


def outbox(tmp_path: Path, monkeypatch: Patch) -> None:
    # Without a kind the first cannot be read.
    messages = [anything(seq=i, kind=kind, object="good") for i, kind in enumerate((None, "run-x"))]
    db = anything(
        outbox=anything(
            list_open=lambda topic, most, after, cluster: messages,
            wait=lambda topic, s: None,
            complete=lambda *_: None,
        )
    )

    async def go() -> None:
        queue = WorkQueue()
        await Outbox(cast(Any, db), cast(Any, called), queue, "default").take()
        assert await queue.get() == "good"

    asyncio.run(go())


def disks(tmp_path: Path, monkeypatch: Patch) -> None:
    looked: list[str] = []

    async def look(disk: Any) -> None:
        looked.append(disk.definition)
        if disk.definition == "bad":
            raise Odd("planted")

    monkeypatch.setattr(Disks, "_look", lambda self, disk: look(disk))
    found = [anything(definition=name) for name in ("bad", "good")]
    it = Disks(
        anything(), anything(disks=anything(list_open=lambda name: found)), cast(Any, called), "default", now
    )
    asyncio.run(it.look())
    assert looked == ["bad", "good"]


def node_drains(tmp_path: Path, monkeypatch: Patch) -> None:
    stepped: list[str] = []

    async def step(node: str) -> None:
        stepped.append(node)
        if node == "bad":
            raise Odd("planted")

    monkeypatch.setattr(NodeDrains, "_step", lambda self, node, on, now: step(node))
    found = [anything(node=name, begun=now()) for name in ("bad", "good")]
    pod = {"metadata": {"labels": {labels.RUN: "r1"}}, "spec": {"nodeName": "good"}}
    cluster = anything(nodes=anything(objects={}), pods=anything(objects={("n", "p"): pod}))
    db = anything(node_drains=anything(list=lambda name: found))
    assert asyncio.run(NodeDrains(cluster, db, cast(Any, called), "default", now).look()) == {"r1"}
    assert stepped == ["bad", "good"]


def load(tmp_path: Path, monkeypatch: Patch) -> None:
    """An ingress whose metrics are none of ours to trust: the other's are taken."""

    async def go() -> None:
        app = web.Application()

        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=b"\xff" if request.path == "/bad" else b"x 1\n")

        app.router.add_get("/bad", answer)
        app.router.add_get("/good", answer)

        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        it = RequestLoad([f"{base}/bad", f"{base}/good"])
        await it.look()
        assert [len(seen) for seen in it._seen.values()] == [0, 1]
        await runner.cleanup()

    asyncio.run(go())


def operator_leads(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(operator_program, "open_database", lambda address: anything(close=lambda: None))
    monkeypatch.setattr(operator_program, "access", anything(in_cluster=lambda: None))
    election = anything(name="x", lease=lambda: None)
    config = anything(
        database=anything(address=lambda: ""),
        cluster="default",
        kubeconfig=None,
        namespace="x",
        election=election,
        listen="",
        port=0,
    )

    async def go() -> None:
        await operator_program.operate(config, asyncio.Event())

    contends(operator_program, go, monkeypatch)


LOOPS = {
    "ava/operator/__main__.py:operate.lead": operator_leads,
    "ava/operator/controller.py:Controller._always": always,
    "ava/operator/controller.py:Controller._work": work,
    "ava/operator/notifications.py:Notifier.run": courier,
    "operator step disks": disks,
    "operator step load": load,
    "operator step node drains": node_drains,
    "operator step outbox": outbox,
    "operator step heartbeat": always,
    "operator step sweep": always,
}
