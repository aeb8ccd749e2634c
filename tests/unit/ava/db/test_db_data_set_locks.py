"""One writer or many readers, whatever is done in whatever order, and wherever its process dies."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Steps
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from ava.db import data_set_locks as holding
from ava.db.database import open_database
from ava.db.tables import data_sets, holds, runs
from ava.domain.model import Kind, Outcome, Phase
from ava.domain.problems import ApiError
from tests.unit.ava import migrated_database
from tests.unit.ava.db.crashes import Crash, Crasher
from tests.unit.ava.db.world import NOW, ONE, SPEC, World

pytestmark = pytest.mark.slow

SETS = ("digits", "faces")
CRASHES = st.none() | st.tuples(st.integers(0, 14), st.sampled_from(Crasher.MOMENTS))
NAMED = st.dictionaries(st.sampled_from(SETS), st.booleans(), min_size=1)


class HoldsMachine(RuleBasedStateMachine):
    """Ann, who owns two data sets and shares them with bob now and then; each submits, admits, stops and ends runs."""

    made = Bundle("made")
    url = ""

    def __init__(self):
        super().__init__()
        self.db = open_database(self.url())
        self.world = World(self.db)
        self.world.person("bob", "vision")
        self.ids = {n: self.db.data_sets.create("ann", n, {"kind": "folder"}, NOW).id for n in SETS}
        self.crasher = Crasher(self.db.engine)
        self.number = 0

    def teardown(self):
        self.db.close()

    def do(self, crash, call, *args, **kwargs):
        """Do something that may die anywhere; what it was refused for is no matter here."""
        try:
            if crash is None:
                return call(*args, **kwargs)
            with self.crasher.at(*crash):
                return call(*args, **kwargs)
        except (Crash, ApiError):
            return None

    @rule(target=made, owner=st.sampled_from(("ann", "bob")), named=NAMED, crash=CRASHES)
    def submit(self, owner, named, crash):
        self.number += 1
        spec = SPEC | {"data_sets": [{"name": self.ids[n], "write": w} for n, w in named.items()]}
        definition = self.db.definitions.save(owner, Kind.TRAINING, f"t{self.number}", spec, NOW).id
        options = {"asks": ONE, "spec": spec, "queue": "default", "priority": 50, "cluster": "default"}
        self.do(crash, self.db.runs.create, definition, f"k{self.number}", NOW, **options)
        found = self.db.runs.list(definition=definition).items
        return found[0].id if found else multiple()

    @rule(run=made, crash=CRASHES)
    def admit(self, run, crash):
        self.do(crash, self.db.runs.admit, run, NOW)

    @rule(run=made, crash=CRASHES)
    def stop(self, run, crash):
        self.do(crash, self.db.runs.stop, run, NOW, by="ann")

    @rule(run=made, crash=CRASHES)
    def finish(self, run, crash):
        self.do(crash, self.db.runs.finish, run, Outcome.SUCCEEDED, "", NOW)

    @rule(name=st.sampled_from(SETS), on=st.booleans(), crash=CRASHES)
    def share(self, name, on, crash):
        if on:
            self.do(crash, self.db.data_sets.share, self.ids[name], "user", "bob", NOW)
        else:
            self.do(crash, self.db.data_sets.unshare, self.ids[name], "user", "bob")

    @rule(name=st.sampled_from(SETS), crash=CRASHES)
    def delete(self, name, crash):
        """Whatever comes of it, a run that is admitted keeps what it has; a new one takes the name."""
        self.do(crash, self.db.data_sets.delete, self.ids[name], NOW)
        self.ids[name] = self.db.data_sets.create("ann", name, {"kind": "folder"}, NOW).id

    @invariant()
    def one_writes_or_many_read_and_each_is_an_admitted_run(self):
        with self.db.engine.connect() as connection:
            having: dict[str, list[bool]] = {}
            query = select(holds, runs.c.phase).join(runs, runs.c.id == holds.c.run)
            for row in connection.execute(query):
                assert row.phase != Phase.FINISHED
                assert (row.since is not None) == (row.phase == Phase.ADMITTED)
                if row.since is not None:
                    having.setdefault(row.data_set, []).append(row.write)
            for row in connection.execute(select(data_sets)):
                writes = having.pop(row.id, [])
                assert (row.writers, row.readers) == (sum(writes), len(writes) - sum(writes))
                assert row.writers == 0 or (row.writers, row.readers) == (1, 0)
                assert row.deleted is None or not writes
            assert not having
            for row in connection.execute(select(runs).where(runs.c.phase == Phase.ADMITTED)):
                held = connection.execute(select(holds.c.data_set).where(holds.c.run == row.id)).all()
                assert len(held) == len(row.spec["data_sets"])


def tried(tmp_path, examples):
    count = iter(range(10**6))

    class Here(HoldsMachine):
        def url(self):
            return migrated_database.copied(tmp_path, f"{next(count)}.db")

    chosen = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        # What is found is shown as it was found: making it smaller takes minutes.
        phases=[Steps.generate],
    )
    run_state_machine_as_test(Here, settings=chosen)


def test_one_writes_or_many_read_whatever_happens(tmp_path):
    tried(tmp_path, 15)


@pytest.mark.parametrize("part", ["acquire", "release"])
def test_a_database_that_forgets_a_part_of_it_is_found_out(tmp_path, monkeypatch, part):
    monkeypatch.setattr(holding, part, lambda *_: ())
    with pytest.raises(AssertionError):
        tried(tmp_path, 50)


def test_readers_that_come_after_a_waiting_writer_wait_for_it(db):
    world = World(db)
    id = db.data_sets.create("ann", "d", {"kind": "folder"}, NOW).id
    count = iter(range(99))

    def named(write, priority=50):
        spec = SPEC | {"data_sets": [{"name": id, "write": write}]}
        n = next(count)
        definition = db.definitions.save("ann", Kind.TRAINING, f"t{n}", spec, NOW).id
        options = {"asks": ONE, "spec": spec, "queue": "default", "priority": priority, "cluster": "default"}
        return db.runs.create(definition, f"k{n}", NOW, **options).id

    first = named(False)
    assert db.runs.admit(first, NOW) == ()
    writer = named(True)
    refused = db.runs.admit(writer, NOW)
    assert [p.code for p in refused] == ["data-set-in-use"]
    db.runs.set_waits_for(writer, refused)
    later, urgent = named(False), named(False, priority=90)
    assert [p.code for p in db.runs.admit(later, NOW)] == ["data-set-behind"]
    assert db.runs.admit(urgent, NOW) == ()
    for run in (first, urgent):
        db.runs.finish(run, Outcome.SUCCEEDED, "", NOW)
    assert db.runs.admit(writer, NOW) == ()
    assert [p.code for p in db.runs.admit(later, NOW)] == ["data-set-in-use"]
    assert world
