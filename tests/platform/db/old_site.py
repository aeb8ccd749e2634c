"""A database on PostgreSQL with as many people and finished runs as a room has after years."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import text

from ava.db.database import Database, migrate, open_database
from ava.domain.model import Quota
from ava.domain.names import new_id
from tests.platform.postgres import Server
from tests.unit.ava.db.world import NOW, World

USERS, GROUPS = 1000, 200
FILL = """
    INSERT INTO runs (id, definition, kind, name, owner, group_name, queue, priority, cluster, key, spec,
        gpu, cpu, memory, phase, created, admitted, finished, outcome, reason, waits_for)
    VALUES (:id, :definition, 'training', 'train', :owner, :group_name, 'default', 50, 'default', :key, :spec,
        1, 1000, 1073741824, 'finished', :begin, :begin, :finish, 'succeeded', '', '[]')"""
CHARGE = """
    INSERT INTO charges (run, group_name, queue, user_name, gpu, cpu, memory, began, ended)
    VALUES (:id, :group_name, 'default', :owner, 1, 1000, 1073741824, :begin, :finish)"""


def people(world: World, users: int = USERS, groups: int = GROUPS) -> dict[str, str]:
    """Make users and groups; return each user's group."""
    for n in range(groups):
        world.db.groups.create(f"group{n}", Quota(None, None, None), NOW)
    found = {}
    for n in range(users):
        found[f"user{n}"] = f"group{n % groups}"
        world.person(f"user{n}", found[f"user{n}"])
    return found


def fill(db: Database, world: World, groups: dict[str, str], count: int) -> None:
    """Write finished runs with their charges; every tenth is of one user, so that one list is long."""
    names = list(groups)
    definitions = {name: world.definition(name) for name in names}
    rows = []
    for n in range(count):
        owner = names[0] if n % 10 == 0 else names[n % len(names)]
        begin = NOW - timedelta(days=365) + timedelta(seconds=n * 300)
        rows.append(
            {
                "id": new_id("r", int(begin.timestamp() * 1000), n),
                "definition": definitions[owner],
                "owner": owner,
                "group_name": groups[owner],
                "key": f"fill-{n}",
                "spec": '{"image": "pytorch:2", "roles": [{"name": "worker", "replicas": 1}]}',
                "begin": begin,
                "finish": begin + timedelta(hours=2),
            }
        )
    with db.engine.begin() as connection:
        for first in range(0, count, 5000):
            connection.execute(text(FILL), rows[first : first + 5000])
            connection.execute(text(CHARGE), rows[first : first + 5000])
    with db.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("VACUUM ANALYZE"))


@dataclass(frozen=True)
class Room:
    """A database, its URL, short ways to do things in it, and each user's group."""

    url: str
    db: Database
    world: World
    groups: dict[str, str]


@contextmanager
def room(finished: int, users: int = USERS, groups: int = GROUPS, *, durable: bool = True) -> Iterator[Room]:
    """Make a room with so many finished runs on a server of its own, which is gone afterwards.

    Args:
        durable: whether a commit waits for the disk.
    """
    server = Server(durable=durable)
    try:
        url = server.url(server.create())
        migrate(url)
        db = open_database(url)
        assert isinstance(db, Database)
        world = World(db)
        of = people(world, users, groups)
        fill(db, world, of, finished)
        yield Room(url, db, world, of)
        db.close()
    finally:
        server.remove()
