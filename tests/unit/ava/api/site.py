"""An AVA in this process: the API over a database in SQLite, people, groups, a fake source of logs, a clock that is set."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpx
from cryptography.fernet import Fernet
from fastapi import FastAPI

from ava.api.app import frame
from ava.db.database import Database, open_database
from ava.domain.model import Pool, Quota, User, UserState
from ava.domain.resources import Resources
from ava.http.middleware import Middleware
from ava.services.auth.caller import PREFIX, digest, new_secret
from ava.services.auth.encryption import Sealer
from ava.services.auth.passwords import Passwords
from ava.services.config import Config, Limits
from ava.services.context import Context, new_context
from ava.services.logs.interface import LogLine, Pods, Target
from tests.unit.ava import migrated_database

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CHEAP = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
"""Parameters of argon2 with which a test does not wait."""
WORD = "correct horse battery"
GIB = 2**30
OPEN = Limits(
    login_address="100000/second",
    login_account="100000/second",
    submit="100000/second",
    change="100000/second",
)
"""Limits that no test meets that is not about them."""
TRACES = {"audit", "messages", "signs", "sqlite_sequence"}
"""Tables that requests write to whatever they are answered."""
SPEC = {"image": "registry.local/torch:2", "command": ["python", "train.py"]}


@cache
def _template(furnished: bool) -> Path:
    """Return a database with its tables, or with people too, made once."""
    if not furnished:
        return migrated_database.migrated()
    path = migrated_database.migrated().with_name("furnished.db")
    shutil.copy(migrated_database.migrated(), path)
    db = open_database(f"sqlite:///{path}")
    furnish(db)
    db.close()
    return path


def person(db: Database, name: str, *, admin: bool = False, state: UserState = UserState.ACTIVE) -> User:
    """Add a person whose password is WORD."""
    return db.users.create(
        name,
        f"{name}@example.org",
        _hashed(),
        NOW,
        admin=admin,
        state=state,
        email_confirmed=state is UserState.ACTIVE,
    )


@cache
def _hashed() -> str:
    return Passwords(CHEAP).hash(WORD)


def furnish(db: Database) -> None:
    """Add people: root2 (administrator), ann and ben (of group vision), eve (of none), and pools and queues."""
    person(db, "root2", admin=True)
    for name in ("ann", "ben", "eve"):
        person(db, name)
    db.groups.create("vision", Quota(8, 64_000, 512 * GIB, None), NOW)
    for name in ("ann", "ben"):
        db.groups.add_member("vision", name, NOW)
    db.pools.put(Pool("", "cpu", False, {"ava.io/pool": "cpu"}))
    db.pools.put(Pool("", "gpu", True, {"ava.io/pool": "gpu"}, cpu_ratio=2.0))
    db.pools.put(Pool("", "shared", True, {"ava.io/pool": "shared"}, gpu_slots=4))
    db.queues.put("slots", NOW, pool="shared")
    db.queues.put("default", NOW, quota=Quota(None, None, None))
    db.queues.put("night", NOW, pool="gpu", quota=Quota(4, None, None), priority=10)


@cache
def frame_of_all() -> FastAPI:
    """Return the application, made once: a test puts its own services into it."""
    return frame(cast(Context, None))


class FakeLogs:
    """A source of logs that holds what a test puts there."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.asked: list[Target] = []
        self.later: list[LogLine] = []
        self.since: list[datetime] = []

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        self.asked.append(target)
        wanted = [
            x for x in self.lines if x.pod.startswith(target.prefix) and (since is None or x.time >= since)
        ]
        return [x for x in wanted if not target.only or x.pod in target.pods][-limit:]

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        self.asked.append(target)
        self.since.append(since)
        while True:
            there = pods()
            while self.later:
                yield self.later.pop(0)
            if there is None:
                return
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        pass


@dataclass
class Site:
    """The whole.

    Attributes:
        now: what the clock shows.
        call: sends a request as somebody: ``site.call("GET", "/runs", "ann")``.
    """

    folder: Path
    furnished: bool = True
    limits: Limits = OPEN
    config: Mapping[str, Any] = field(default_factory=dict)
    now: datetime = NOW
    frame: Callable[[], FastAPI] = frame_of_all

    def __post_init__(self) -> None:
        path = self.folder / "database.db"
        shutil.copy(_template(self.furnished), path)
        self.db = open_database(f"sqlite:///{path}")
        settings = Config(sealing_key=Path("/nowhere"), limits=self.limits, **self.config)
        self.logs = FakeLogs()
        self.sealing_key = Fernet.generate_key()
        self.services = new_context(
            self.db,
            settings,
            Sealer([self.sealing_key]),
            passwords=Passwords(CHEAP),
            logs=self.logs,
            clock=lambda: self.now,
        )
        self.frame().state.services = self.services
        self.app = Middleware(self.frame(), settings.trusted_proxies)
        self.loop = asyncio.new_event_loop()
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app, client=("192.0.2.7", 4711)),
            base_url="https://ava.test",
        )
        self._tokens: dict[str, str] = {}

    def close(self) -> None:
        self.loop.run_until_complete(self.http.aclose())
        self.loop.close()
        self.db.close()

    def token(self, name: str) -> str:
        """Return a token of a person, made once."""
        if name not in self._tokens:
            secret = new_secret()
            until = self.now + timedelta(days=1)
            id = self.db.secrets.create(name, "token", digest(secret), self.now, until=until)
            self._tokens[name] = f"{PREFIX}{id}.{secret}"
        return self._tokens[name]

    def call(self, method: str, path: str, who: str | None = None, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if who is not None:
            headers["authorization"] = f"Bearer {self.token(who)}"
        address = path if path.startswith("/api") else f"/api/v1{path}"
        self.http.cookies.clear()
        return self.loop.run_until_complete(self.http.request(method, address, headers=headers, **more))

    def run(self, who: str = "ann", name: str = "mnist", **spec: Any) -> dict[str, Any]:
        """Start a training and return it."""
        answer = self.call("POST", "/runs", who, json={"name": name, "spec": SPEC | spec})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def state(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return every row that a refused request must leave as it was: table to rows, to be compared."""
        with closing(sqlite3.connect(self.folder / "database.db")) as base:
            names = [
                str(name) for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            rows = {name: base.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608  its own tables
            # A refused run's definition is deleted again.
            rows["definitions"] = base.execute("SELECT * FROM definitions WHERE deleted IS NULL").fetchall()
            # When a secret was last used changes with each request, refused ones too.
            kept = "id, user_name, kind, digest, label, created, until, scopes"
            rows["secrets"] = base.execute(f"SELECT {kept} FROM secrets").fetchall()  # noqa: S608  the columns above
        return {name: found for name, found in rows.items() if name not in TRACES}


def problems(answer: httpx.Response) -> list[dict[str, str]]:
    """Return an answer's problems, having looked that it is a whole problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["problems"]
    for problem in body["problems"]:
        empty = [k for k in ("code", "what", "where", "found", "wanted", "remedy") if not problem[k]]
        assert not empty, (empty, problem)
    return list(body["problems"])


def codes(answer: httpx.Response) -> list[str]:
    """Return the codes of an answer's problems."""
    return [p["code"] for p in problems(answer)]


NOTHING = Resources()
