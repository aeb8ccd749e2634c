"""Migrations on PostgreSQL, down to each constraint and index."""
# ruff: noqa: F403

import pytest
from sqlalchemy import text

from ava.db.database import migrate, open_database
from ava.db.tables import metadata
from tests.unit.ava.db.test_db_migrations import *

CATALOGUE = {
    "columns": "SELECT table_name, column_name, data_type, collation_name, character_maximum_length, is_nullable,"
    " regexp_replace(column_default, '^nextval.*', 'serial') FROM information_schema.columns"
    " WHERE table_schema = 'public'",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    # A column by its name: a migration adds one behind the others.
    "comments": "SELECT objoid::regclass::text, coalesce(attname, ''), description FROM pg_description"
    " LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid AND attnum > 0"
    " WHERE classoid = 'pg_class'::regclass AND objoid::regclass::text !~ '^pg_|^information'",
}


@pytest.fixture
def empty(server):
    name = server.create()
    yield server.url(name)
    server.drop(name)


def catalogue(url):
    db = open_database(url)
    with db.engine.connect() as connection:
        found = {
            what: sorted(
                tuple(row) for row in connection.execute(text(query)) if "alembic_version" not in row[0]
            )
            for what, query in CATALOGUE.items()
        }
    db.close()
    return {what: [repr(row) for row in rows] for what, rows in found.items()}


def test_migrated_tables_are_those_of_the_code_to_each_check_and_index(server, empty):
    migrate(empty)
    name = server.create()
    db = open_database(server.url(name))
    metadata.create_all(db.engine)
    db.close()
    assert catalogue(empty) == catalogue(server.url(name))
    assert all(catalogue(empty).values())
    server.drop(name)
