"""A database in SQLite, an API server in memory, hollow nodes, and an operator between them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

from ava.db.database import Database
from ava.domain.model import Kind, Phase, Pool, Quota, Run, UserState
from ava.domain.spec import Spec
from ava.kube.client import Client
from ava.operator.config import Config
from ava.operator.controller import Controller
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from tests.platform.hollow import Hollow
from tests.unit.ava.kube.fake_api import FakeApi

MADE = ("pods", "services", "configmaps", "secrets")
_keys = count()


def now() -> datetime:
    return datetime.now(UTC)


def furnish(db: Database) -> None:
    """Put a group, a user and two pools into a database."""
    db.groups.create("vision", Quota(gpu=1000, cpu=10_000_000, memory=2**50), now())
    db.users.create(
        "ann", "ann@example.org", "hash", now(), admin=True, state=UserState.ACTIVE, email_confirmed=True
    )
    db.groups.add_member("vision", "ann", now())
    db.pools.put(Pool("", "cards", True, {}, cpu_ratio=2.0))
    db.pools.put(Pool("", "cores", False, {}))


def start(
    db: Database, *, kind: Kind = Kind.TRAINING, name: str = "train", admit: bool = True, **spec: Any
) -> Run:
    """Return a new run, admitted."""
    reply = Spec.model_validate({"image": "i", "kind": kind.value} | spec)
    document = reply.model_dump(mode="json")
    definition = db.definitions.save("ann", kind, name, document, now(), replace=True)
    run = db.runs.create(
        definition.id,
        f"key-{next(_keys)}",
        now(),
        asks=reply.asks(),
        spec=document,
        queue="default",
        priority=50,
        cluster="default",
    )
    if admit:
        assert db.runs.admit(run.id, now()) == ()
    return db.runs.get(run.id)


def settings(**times: float) -> Config:
    """Return settings with short times."""
    short = {
        "reconcile": 0.5,
        "alive": 0.2,
        "orphan": 0.2,
        "stuck": 0.3,
        "dead_node": 0.5,
        "pod_backoff": 0.05,
    }
    return Config.model_validate(
        {
            "times": short | times,
            "pods": {"git_image": "git:1", "grace": 2},
            "network": {"dns": ["10.96.0.10"], "openings": [{"cidr": "10.0.0.0/8", "ports": [443]}]},
        }
    )


@asynccontextmanager
async def operating(client: Client, db: Any, config: Config | None = None) -> AsyncIterator[Controller]:
    """Run an operator without an election while the context lasts."""
    threads = DbExecutor(4)
    controller = Controller(client, db, threads, config or settings(), Metrics("default"))
    task = asyncio.create_task(controller.run())
    try:
        yield controller
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        threads.close()


class Room:
    """What a test has in its hands."""

    def __init__(self, api: FakeApi, client: Client, db: Database, nodes: Hollow) -> None:
        self.api, self.client, self.db, self.nodes = api, client, db, nodes

    async def until(self, wanted: Any, seconds: float = 60.0) -> None:
        """Wait until ``wanted()`` is true."""
        async with asyncio.timeout(seconds):
            while not wanted():
                await asyncio.sleep(0.02)

    def run(self, run: Run) -> Run:
        return self.db.runs.get(run.id)

    def finished(self, *runs: Run) -> bool:
        return all(self.run(run).phase is Phase.FINISHED for run in runs)

    def phases(self, run: Run) -> list[str]:
        """Return the phases of a run's present attempt as the database has them."""
        attempt = self.run(run).attempt
        return [p.phase for p in self.db.pods.list([run.id])[run.id] if p.attempt == attempt]

    def pods(self, run: Run) -> list[dict[str, Any]]:
        """Return a run's pods as the server has them."""
        return [p for p in self.api.all("pods") if p["metadata"]["labels"].get("ava.io/run") == run.id]

    def left(self) -> list[str]:
        """Return what is left of runs on the server."""
        return [
            f"{kind}/{t['metadata']['name']}"
            for kind in (*MADE, "networkpolicies")
            for t in self.api.all(kind)
            if "ava.io/run" in (t["metadata"].get("labels") or {})
        ]


def in_room(
    db: Database, test: Any, *, config: Config | None = None, operator: bool = True, nodes: int = 2
) -> None:
    """Run ``test(room)`` with an operator at work (or none)."""

    async def go() -> None:
        api = FakeApi()
        furnish(db)
        async with api.serve() as access, Client(access) as client, Client(access) as other:
            hollow = Hollow(other, nodes)
            async with hollow.running():
                room = Room(api, client, db, hollow)
                if operator:
                    async with operating(client, db, config):
                        await test(room)
                else:
                    await test(room)

    asyncio.run(go())
