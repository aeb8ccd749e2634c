"""Threads, each with a store of its own, that want to write and read one data set at the same moment."""

import contextlib
import threading

from sqlalchemy import select

from ava.db.database import open_database
from ava.db.tables import data_sets
from ava.domain.model import Kind, Outcome, Phase
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW, ONE, SPEC, World

ROUNDS, THREADS = 15, 6
GIB = 2**30


def test_one_writes_or_many_read_however_many_ask_at_once(url):
    db = open_database(url)
    world = World(db)
    one = db.data_sets.create("ann", "digits", {"kind": "folder"}, NOW).id
    stores = [open_database(url) for _ in range(THREADS)]
    for number in range(ROUNDS):
        waiting = [submit(db, f"{number}-{i}", write=i % 3 == 0) for i in range(THREADS)]
        start = threading.Barrier(THREADS)

        def admit(own, run, start=start):
            start.wait()
            own.runs.admit(run, NOW)

        threads = [threading.Thread(target=admit, args=pair) for pair in zip(stores, waiting, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        had = [r.id for r in map(db.runs.get, waiting) if r.phase is Phase.ADMITTED]
        writes = [r for r in had if waiting.index(r) % 3 == 0]
        assert len(writes) == 0 or (len(writes), len(had)) == (1, 1)
        assert had
        with db.engine.connect() as connection:
            row = connection.execute(select(data_sets)).one()
            assert (row.writers, row.readers) == (len(writes), len(had) - len(writes))
        for run in waiting:
            db.runs.stop(run, NOW, by="ann")
            db.runs.finish(run, Outcome.STOPPED, "", NOW)
        assert db.data_sets.get(one).readers == db.data_sets.get(one).writers == 0
    assert world.db.groups.get("vision").used.gpu == 0
    for each in (db, *stores):
        each.close()


def test_limits_of_an_owner_are_not_exceeded_however_many_are_made_at_once(url):
    db = open_database(url)
    World(db)
    stores = [open_database(url) for _ in range(THREADS)]
    start, made = threading.Barrier(THREADS), []

    def make(own, number):
        start.wait()
        for turn in range(3):
            with contextlib.suppress(ApiError):
                made.append(
                    own.data_sets.create(
                        "ann", f"s{number}-{turn}", {"kind": "folder"}, NOW, quota=GIB, most=4 * GIB
                    )
                )

    threads = [threading.Thread(target=make, args=pair) for pair in zip(stores, range(THREADS), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4 and db.data_sets.promised("ann") == 4 * GIB
    for each in (db, *stores):
        each.close()


def submit(db, key, write):
    spec = SPEC | {"data_sets": [{"name": "digits", "write": write}]}
    definition = db.definitions.save("ann", Kind.TRAINING, f"t{key}", spec, NOW).id
    asks = ONE._replace(gpu=0, cpu=10)
    options = {"queue": "default", "priority": 50, "cluster": "default"}
    return db.runs.create(definition, key, NOW, asks=asks, spec=spec, **options).id
