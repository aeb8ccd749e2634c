"""Lists of a long-lived platform: a page costs the same whatever came before it.

Counted in blocks that are read, which no neighbour on the machine changes.
"""

from __future__ import annotations

import pytest
from sqlalchemy import event, text

from ava.db.database import open_database
from ava.domain.model import Kind, Phase
from tests.platform.db.old_site import fill, people
from tests.unit.ava.db.world import World

pytestmark = pytest.mark.slow

FINISHED = 20_000
BLOCKS = 150
"""Of 8 KiB, for a page of 50: each row may be in a block of its own, and each index has three levels."""


@pytest.fixture(scope="module")
def long_lived(server, migrated):
    name = server.create(migrated)
    db = open_database(server.url(name))
    world = World(db)
    fill(db, world, people(world, users=100, groups=20), FINISHED)
    yield db
    db.close()
    server.drop(name)


def plans(db, call):
    """Return what a call reads: the plan of each of its SELECTs on runs, charges or users."""
    asked = []

    def keep(_connection, _cursor, statement, parameters, *_):
        asked.append((statement, parameters))

    event.listen(db.engine, "before_cursor_execute", keep)
    call()
    event.remove(db.engine, "before_cursor_execute", keep)
    with db.engine.connect() as connection:
        return [
            connection.exec_driver_sql(
                f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters
            ).scalar()[0]
            for statement, parameters in asked
        ]


def nodes(plan):
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


CALLS = {
    "of a user": lambda s: s.runs.list(owner="user1"),
    "of a user with a tenth of all": lambda s: s.runs.list(owner="user0"),
    "of a user, of one kind": lambda s: s.runs.list(owner="user0", kind=Kind.WORKBENCH),
    "of a user, queued": lambda s: s.runs.list(owner="user0", phase=Phase.QUEUED),
    "of a group": lambda s: s.runs.list(group="group1"),
    "of a group, admitted": lambda s: s.runs.list(group="group1", phase=Phase.ADMITTED),
    "of a definition": lambda s: s.runs.list(definition=s.definitions.list(owner="user1").items[0].id),
    "of a kind": lambda s: s.runs.list(kind=Kind.SERVICE),
    "all": lambda s: s.runs.list(),
    "in the middle": lambda s: s.runs.list(after="r0v0000000000"),
    "waiting": lambda s: s.runs.waiting(),
    "active": lambda s: s.runs.active(),
    "users": lambda s: s.users.list(),
    "groups": lambda s: s.groups.list(),
    "charges of a group": lambda s: s.charges.list(group="group1", limit=50),
    "open charges of a group": lambda s: s.charges.list(group="group1", open_only=True, limit=50),
    "charge of a run": lambda s: s.charges.list(run="r0v0000000000"),
    "messages": lambda s: s.outbox.list_open("scheduler"),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_page_reads_little(long_lived, what):
    for plan in plans(long_lived, lambda: CALLS[what](long_lived)):
        top = plan["Plan"]
        assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] <= BLOCKS, plan
        scanned = {n["Relation Name"] for n in nodes(top) if n["Node Type"] == "Seq Scan"}
        assert scanned.isdisjoint({"runs", "charges"}), plan


def test_the_fill_is_what_it_seems(long_lived):
    with long_lived.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM runs")).scalar() == FINISHED
        assert connection.execute(text("SELECT count(*) FROM charges")).scalar() == FINISHED
    assert len(long_lived.runs.list(owner="user0", limit=1000).items) == 1000
