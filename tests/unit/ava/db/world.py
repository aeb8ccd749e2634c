"""A small world in a database, and short ways to do things in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from ava.db.database import Database
from ava.domain.model import Kind, Quota, Run, UserState
from ava.domain.problems import ApiError
from ava.domain.resources import Resources

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
SPEC = {"image": "pytorch:2", "roles": [{"name": "worker", "replicas": 1}]}
ONE = Resources(1, 1000, 2**30)
ROOM = Quota(gpu=4, cpu=16_000, memory=64 * 2**30)


def later(seconds: float) -> datetime:
    """Return a time after NOW."""
    return NOW + timedelta(seconds=seconds)


def refused(call, *args, **kwargs) -> ApiError:
    """Return the refusal that a call must end with."""
    with pytest.raises(ApiError) as caught:
        call(*args, **kwargs)
    assert caught.value.problems
    return caught.value


def code(call, *args, **kwargs) -> tuple[int, str]:
    """Return status and first code of the refusal that a call must end with."""
    refusal = refused(call, *args, **kwargs)
    return refusal.status, refusal.problems[0].code


@dataclass
class World:
    """The group ``vision`` with a user ``ann``, who is its only member and the administrator."""

    db: Database
    _keys: count = field(default_factory=count)

    def __post_init__(self) -> None:
        self.db.groups.create("vision", ROOM, NOW)
        self.person("ann", "vision", admin=True)

    def person(self, name: str, *groups: str, admin: bool = False) -> None:
        """Add a user who may log in."""
        self.db.users.create(name, f"{name}@example.org", "hash", NOW, admin=admin, state=UserState.ACTIVE)
        for group in groups:
            self.db.groups.add_member(group, name, NOW)

    def definition(self, owner: str = "ann", name: str = "train", kind: Kind = Kind.TRAINING) -> str:
        """Return the id of a definition."""
        return self.db.definitions.save(owner, kind, name, SPEC, NOW).id

    def submit(
        self,
        asks: Resources = ONE,
        owner: str = "ann",
        *,
        definition: str | None = None,
        key: str | None = None,
        queue: str = "default",
        priority: int = 50,
        cluster: str = "default",
        at: datetime = NOW,
    ) -> Run:
        """Return a new run, queued."""
        return self.db.runs.create(
            definition or self.definition(owner),
            f"key-{next(self._keys)}" if key is None else key,
            at,
            asks=asks,
            spec=SPEC,
            queue=queue,
            priority=priority,
            cluster=cluster,
        )

    def running(self, asks: Resources = ONE, owner: str = "ann", at: datetime = NOW) -> Run:
        """Return a new run, admitted, whose pods have their nodes."""
        run = self.submit(asks, owner, at=at)
        assert self.db.runs.admit(run.id, at) == ()
        self.db.allocations.record(run.id, asks, at, since=at)
        return self.db.runs.get(run.id)

    def kinds(self, topic) -> list[tuple[str, str]]:
        """Return kind and object of the open messages of a topic."""
        return [(m.kind, m.object) for m in self.db.outbox.list_open(topic, 1000)]
