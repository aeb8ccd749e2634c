"""Random work with crashes on SQLite; more of it, and on PostgreSQL, in tests/platform/db."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ava.db.database import open_database
from ava.db.quotas import charge
from tests.unit.ava import migrated_database
from tests.unit.ava.db.crashes import Crasher
from tests.unit.ava.db.state_machine import DatabaseMachine

pytestmark = pytest.mark.slow

EXAMPLES, STEPS = 20, 30


def machine(folder):
    """Return a machine whose databases are copies of a migrated file."""

    class OnSqlite(DatabaseMachine):
        operations_done = crashes = 0

        def begin(self):
            for old in folder.glob("machine.db*"):
                old.unlink()
            db = open_database(migrated_database.copied(folder, "machine.db"))
            return db, Crasher(db.engine)

        def end(self):
            OnSqlite.operations_done += self.operations
            OnSqlite.crashes += self.crasher.struck

    return OnSqlite


def test_no_interleaving_of_work_and_crashes_bends_the_books(tmp_path):
    on_sqlite = machine(tmp_path)
    run_state_machine_as_test(
        on_sqlite,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert on_sqlite.operations_done > EXAMPLES * 5
    assert on_sqlite.crashes > EXAMPLES


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ("release", lambda *_: None),
        ("charge", lambda *_: ()),
        (
            "charge",
            lambda connection, run, now: [charge(connection, run, now), charge(connection, run, now)][0],
        ),
    ],
    ids=["gives back nothing", "charges nothing", "charges twice"],
)
def test_the_machine_sees_books_that_are_wrong(tmp_path, monkeypatch, part, instead):
    monkeypatch.setattr(f"ava.db.runs.{part}", instead)
    only_find = settings(
        # Stops at the first; some random walks of a lesser length never came to the end of a run.
        max_examples=1000,
        stateful_step_count=40,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine(tmp_path), settings=only_find)
