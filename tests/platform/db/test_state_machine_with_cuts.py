"""Random work: 10,000 operations with crashes, and a thousand on PostgreSQL whose connections are cut in the middle."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from ava.db.database import open_database
from tests.unit.ava.db.crashes import Crasher
from tests.unit.ava.db.state_machine import DatabaseMachine
from tests.unit.ava.db.test_db_state_machine import machine


@pytest.mark.slow
def test_ten_thousand_operations_with_crashes(tmp_path):
    work = machine(tmp_path)
    while work.operations_done < 10_000:
        run_state_machine_as_test(work, settings=some(100, 50))
    assert work.crashes > 1000


@pytest.mark.slow
def test_connections_cut_in_the_middle_bend_nothing(server, migrated):
    class OnPostgresql(DatabaseMachine):
        operations_done = cuts = 0

        def begin(self):
            self.database = server.create(migrated)
            db = open_database(server.url(self.database))
            return db, Crasher(db.engine, lambda: server.cut(self.database))

        def end(self):
            OnPostgresql.operations_done += self.operations
            OnPostgresql.cuts += self.crasher.struck
            server.drop(self.database)

    run_state_machine_as_test(OnPostgresql, settings=some(20, 25))
    assert OnPostgresql.operations_done > 100
    assert OnPostgresql.cuts > 20


def some(examples, steps):
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
