"""Migrations that let the former version work on (`avadm upgrade ava` goes back to it): they take nothing away from it."""

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from ava.db.base import WRITES
from ava.db.database import config, open_database

SCRIPTS = ScriptDirectory.from_config(config())
FLAG = "BACKWARD_COMPATIBLE"
FLAGGED = [
    one.revision
    for one in reversed(list(SCRIPTS.walk_revisions()))
    if getattr(SCRIPTS.get_revision(one.revision).module, FLAG, False)
]


def upgrade(url, revision):
    db = open_database(url)
    with db.engine.execution_options(**{WRITES: True}).begin() as connection:
        command.upgrade(config({"connection": connection}), revision)
    db.close()


def schema(url):
    """Return table to its columns and to what a row must fulfil."""
    db = open_database(url)
    seen = inspect(db.engine)
    found = {}
    for table in seen.get_table_names():
        columns = {c["name"]: c for c in seen.get_columns(table)}
        demands = {
            "unique": {tuple(one["column_names"]) for one in seen.get_unique_constraints(table)},
            "indexes": {one["name"] for one in seen.get_indexes(table) if one["unique"]},
            "checks": {one["sqltext"] for one in seen.get_check_constraints(table)},
            "keys": {tuple(one["constrained_columns"]) for one in seen.get_foreign_keys(table)},
        }
        found[table] = (columns, demands)
    db.close()
    return found


def test_the_flag_is_true_or_left_out():
    for one in SCRIPTS.walk_revisions():
        assert getattr(SCRIPTS.get_revision(one.revision).module, FLAG, True) is True


@pytest.mark.parametrize("revision", FLAGGED)
def test_what_the_former_version_reads_and_writes_stays(tmp_path, revision):
    url = f"sqlite:///{tmp_path / 'ava.db'}"
    upgrade(url, SCRIPTS.get_revision(revision).down_revision)
    before = schema(url)
    upgrade(url, revision)
    after = schema(url)
    for table, (columns, demands) in before.items():
        now, demanded = after[table]
        for name, one in columns.items():
            assert (str(now[name]["type"]), now[name]["nullable"]) == (str(one["type"]), one["nullable"])
        # The former version leaves new columns out, and no new constraint may refuse its rows.
        for name in now.keys() - columns.keys():
            assert now[name]["nullable"] or now[name]["default"] is not None, (table, name)
        assert demanded == demands, table


def test_some_are_and_some_are_not():
    assert "0022" in FLAGGED and "0016" not in FLAGGED
