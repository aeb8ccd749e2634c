"""Threads, each with a store of its own, that want to write and read one data set at the same moment."""

import contextlib
import threading

import pytest
from sqlalchemy import select

from ava.db.database import open_database
from ava.db.tables_folders import data_sets
from ava.domain.model import Kind, Outcome, Phase
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW, ONE, SPEC, World

pytestmark = pytest.mark.platform
ROUNDS, THREADS = 15, 6
GIB = 2**30


def test_one_writes_or_many_read_however_many_ask_at_once(url):
    store = open_database(url)
    world = World(store)
    one = store.add_data_set("ann", "digits", {"kind": "folder"}, NOW).id
    stores = [open_database(url) for _ in range(THREADS)]
    for number in range(ROUNDS):
        waiting = [submit(store, f"{number}-{i}", write=i % 3 == 0) for i in range(THREADS)]
        start = threading.Barrier(THREADS)

        def admit(own, run, start=start):
            start.wait()
            own.admit(run, NOW)

        threads = [threading.Thread(target=admit, args=pair) for pair in zip(stores, waiting, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        had = [r.id for r in map(store.run, waiting) if r.phase is Phase.ADMITTED]
        writes = [r for r in had if waiting.index(r) % 3 == 0]
        assert len(writes) == 0 or (len(writes), len(had)) == (1, 1)
        assert had
        with store.engine.connect() as connection:
            row = connection.execute(select(data_sets)).one()
            assert (row.writers, row.readers) == (len(writes), len(had) - len(writes))
        for run in waiting:
            store.stop(run, NOW, by="ann")
            store.finish(run, Outcome.STOPPED, "", NOW)
        assert store.data_set(one).readers == store.data_set(one).writers == 0
    assert world.store.group("vision").used.gpu == 0
    for each in (store, *stores):
        each.close()


def test_limits_of_an_owner_are_not_exceeded_however_many_are_made_at_once(url):
    store = open_database(url)
    World(store)
    stores = [open_database(url) for _ in range(THREADS)]
    start, made = threading.Barrier(THREADS), []

    def make(own, number):
        start.wait()
        for turn in range(3):
            with contextlib.suppress(ApiError):
                made.append(
                    own.add_data_set(
                        "ann", f"s{number}-{turn}", {"kind": "folder"}, NOW, quota=GIB, most=4 * GIB
                    )
                )

    threads = [threading.Thread(target=make, args=pair) for pair in zip(stores, range(THREADS), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4 and store.data_set_usage("ann") == 4 * GIB
    for each in (store, *stores):
        each.close()


def submit(store, key, write):
    spec = SPEC | {"data_sets": [{"name": "digits", "write": write}]}
    definition = store.save_definition("ann", Kind.TRAINING, f"t{key}", spec, NOW).id
    asks = ONE._replace(gpu=0, cpu=10)
    options = {"queue": "default", "priority": 50, "cluster": "default"}
    return store.submit(definition, key, NOW, asks=asks, spec=spec, **options).id
