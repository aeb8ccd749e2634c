"""Usage of what was charged at a revision without allocations is the same after the migration, to the millisecond."""

from __future__ import annotations

import itertools
import random
from datetime import timedelta

import pytest
from sqlalchemy import text

from ava.db.database import migrate, open_database
from ava.domain.model import Outcome
from tests.unit.ava.db.test_db_migrations import ORDER, upgrade, write
from tests.unit.ava.db.world import NOW, later


def ids():
    """Return ids of the database's form, one after the other."""
    return (f"x{number:012d}" for number in itertools.count())


WINDOWS = [(0, 10**7), (3_600, 90_000), (86_400, 86_401), (500_000, 900_000)]
"""Seconds after NOW: all of it, parts of runs, one second, a stretch in the middle."""
# What the releases until 0015 answered: amount times the part of each charge within the window, by user and group.
BEFORE = """
SELECT user_name, group_name, count(DISTINCT run) AS runs,
  sum(gpu * lasted) AS gpu, sum(cpu * lasted) AS cpu, sum(memory * lasted) AS memory
FROM (SELECT *, extract(epoch FROM least(coalesce(ended, :last), :last) - greatest(began, :first)) AS lasted
      FROM charges WHERE began < :last AND (ended IS NULL OR ended > :first)) AS c
GROUP BY user_name, group_name ORDER BY user_name, group_name
"""

OPEN = (
    "UPDATE {table} SET used_gpu = c.gpu, used_cpu = c.cpu, used_memory = c.memory FROM (SELECT {whose}, sum(gpu) AS gpu,"
    " sum(cpu) AS cpu, sum(memory) AS memory FROM charges WHERE ended IS NULL GROUP BY {whose}) AS c"
    " WHERE c.{whose} = {table}.name"
)
USED = OPEN.format(table="groups", whose="group_name"), OPEN.format(table="queues", whose="queue")


@pytest.fixture
def older(server):
    """A database as the release before allocations has written it."""
    name = server.create()
    url = server.url(name)
    for revision in ORDER[: ORDER.index("0016")]:
        upgrade(url, revision)
        write(url, revision)
    fill(url)
    yield url
    server.drop(name)


def fill(url):
    """Write charges of three users in two groups: ended, open, of no length, of several attempts, without GPUs."""
    chance, fresh = random.Random(16), ids()  # noqa: S311 - the same rows each time
    db = open_database(url)
    with db.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO groups (name, id, gid, used_gpu, used_cpu, used_memory, created)"
                " VALUES ('speech', 'g2aaaaaaaaaaa', 21001, 0, 0, 0, :then)"
            ),
            {"then": NOW},
        )
        for number, user in enumerate(("bob", "eve")):
            connection.execute(
                text(
                    "INSERT INTO users (name, id, email, password, uid, admin, state, created)"
                    " VALUES (:user, :id, :mail, 'hash', :uid, false, 'active', :then)"
                ),
                {
                    "user": user,
                    "id": next(fresh),
                    "mail": f"{user}@x.org",
                    "uid": 21_002 + number,
                    "then": NOW,
                },
            )
        for number in range(120):
            user, group = chance.choice(
                [("ann", "vision"), ("bob", "vision"), ("bob", "speech"), ("eve", "speech")]
            )
            run, begins = next(fresh), NOW + timedelta(milliseconds=chance.randrange(10**9))
            whole = {
                "run": run, "owner": user, "group": group, "key": f"k{number}", "gpu": chance.choice([0, 1, 8]),
                "cpu": chance.choice([100, 1000, 64_000]), "memory": chance.choice([2**20, 2**30, 3 * 2**40]),
            }  # fmt: skip
            connection.execute(
                text(
                    "INSERT INTO runs (id, definition, kind, name, owner, group_name, queue, priority, cluster, key,"
                    " spec, gpu, cpu, memory, phase, created, admitted, waits_for) VALUES (:run, 'd1aaaaaaaaaaa',"
                    " 'training', 'train', :owner, :group, 'default', 50, 'default', :key, '{}', :gpu, :cpu, :memory,"
                    " 'admitted', :began, :began, '[]')"
                ),
                whole | {"began": begins},
            )
            attempts = chance.choice([1, 1, 1, 3])
            for attempt in range(attempts):
                ends = begins + timedelta(
                    milliseconds=chance.choice([0, 1, 999, chance.randrange(3 * 10**8)])
                )
                last = attempt == attempts - 1
                connection.execute(
                    text(
                        "INSERT INTO charges (run, group_name, queue, user_name, gpu, cpu, memory, began, ended)"
                        " VALUES (:run, :group, 'default', :owner, :gpu, :cpu, :memory, :began, :ended)"
                    ),
                    whole | {"began": begins, "ended": None if last and number % 9 == 0 else ends},
                )
                begins = ends + timedelta(milliseconds=chance.choice([0, 5000]))
        connection.execute(text("UPDATE groups SET quota_gpu = NULL"))
        for statement in USED:
            connection.execute(text(statement))
    db.close()


def before(url, window, now):
    db = open_database(url)
    first, last = later(window[0]), min(later(window[1]), now)
    with db.engine.connect() as connection:
        rows = connection.execute(text(BEFORE), {"first": first, "last": last}).all()
    db.close()
    return [
        (r.user_name, r.group_name, r.runs, *(round(float(x), 3) for x in (r.gpu, r.cpu, r.memory)))
        for r in rows
    ]


def after(url, window, now, *, reserved):
    db = open_database(url)
    found = []
    for use in db.charges.usage(later(window[0]), later(window[1]), now=now):
        own = (use.gpu_seconds, use.cpu_seconds, use.memory_seconds)
        if reserved:
            own = (use.reserved.gpu, use.reserved.cpu, use.reserved.memory)
        found.append((use.user, use.group, use.runs, *own))
    db.close()
    return found


def near(found, wanted):
    """The same people and runs, and amounts to a whole second of each resource."""
    assert [row[:3] for row in found] == [row[:3] for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        for value, want in zip(one[3:], other[3:], strict=True):
            assert abs(value - want) <= 1 + want * 1e-12, (one, other)


def test_usage_is_the_same_after_the_migration(older):
    now = later(2 * 10**6)
    wanted = {window: before(older, window, now) for window in WINDOWS}
    assert len(wanted[WINDOWS[0]]) == 4 and all(wanted.values())
    assert sum(row[3] for row in wanted[WINDOWS[0]]) > 10**6
    migrate(older)
    for window in WINDOWS:
        for reserved in (False, True):
            near(after(older, window, now, reserved=reserved), wanted[window])


def test_what_was_open_at_the_migration_goes_on_and_ends_once(older):
    migrate(older)
    db = open_database(older)
    still = [charge.run for charge in db.charges.list(open_only=True)]
    assert len(still) > 5
    for run in still:
        db.runs.finish(run, Outcome.SUCCEEDED, "", later(3 * 10**6))
    db.close()
    window = (0, 10**7)
    wanted = before(older, window, later(10**7))
    for reserved in (False, True):
        near(after(older, window, later(10**7), reserved=reserved), wanted)
