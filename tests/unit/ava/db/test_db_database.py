"""Opening a database: which URLs, and never a password in one."""

import pytest

from ava.db.database import migrate, open_database
from tests.unit.ava.db.world import World, code, refused


def test_a_password_in_the_url_is_refused_and_not_repeated():
    for call in (open_database, migrate):
        refusal = refused(call, "postgresql://ava:very-secret@db.example.org/ava")
        assert refusal.problems[0].code == "password-in-url" and refusal.problems[0].remedy
        assert "very-secret" not in f"{refusal} {refusal.problems}"


@pytest.mark.parametrize("url", ["mysql://ava@db/ava", "mongodb://db/ava", "oracle://x"])
def test_another_kind_of_data_base_is_refused(url):
    assert code(open_database, url) == (400, "database-unknown")


@pytest.mark.parametrize("url", ["", "ava", "/var/lib/ava.db", "postgresql"])
def test_what_is_no_url_is_refused(url):
    assert code(open_database, url) == (400, "url-invalid")


def test_a_database_in_memory_is_ready_and_gone_when_it_is_closed():
    first = open_database("sqlite://")
    World(first)
    assert first.users.get("ann").name == "ann"
    second = open_database("sqlite://")
    assert second.users.list().items == ()
    for db in (first, second):
        db.close()


def test_a_data_base_that_is_not_there_is_reported_when_it_is_asked(tmp_path):
    db = open_database(f"sqlite:///{tmp_path}/nothing/database.db")
    assert code(db.users.list) == (503, "database-unavailable")
    db.close()


def test_a_data_base_without_tables_is_reported(tmp_path):
    db = open_database(f"sqlite:///{tmp_path}/database.db")
    assert code(db.users.list) == (503, "database-unavailable")
    db.close()
