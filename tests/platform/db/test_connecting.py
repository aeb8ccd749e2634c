"""How PostgreSQL is reached: passwords from files alone; nothing empties what is kept for ever."""

import os

import pytest
from sqlalchemy import exc, text

from ava.db.database import migrate, open_database
from tests.platform.postgres import PASSWORD
from tests.unit.ava.db.world import NOW, code, refused


@pytest.fixture
def loopback(server, database):
    return server.loopback_url(database)


def test_the_password_is_read_from_its_file_at_each_connection(loopback, tmp_path):
    file = tmp_path / "password"
    file.write_text("wrong\n")
    db = open_database(loopback, password_file=file)
    refusal = code(db.users.list)
    assert refusal == (503, "database-unavailable")
    file.write_text(f"{PASSWORD}\n")
    assert db.users.list().items == ()
    db.close()
    migrate(loopback, password_file=file)


def test_a_password_file_that_is_missing_is_reported(loopback, tmp_path):
    db = open_database(loopback, password_file=tmp_path / "nothing")
    assert code(db.users.list) == (503, "database-unavailable")
    db.close()


def test_libpqs_own_file_serves_too(loopback, tmp_path):
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:*:{PASSWORD}\n")
    file.chmod(0o600)
    db = open_database(f"{loopback}?passfile={file}")
    assert db.users.list().items == ()
    db.close()


def test_no_password_stands_in_a_refusal(loopback, tmp_path):
    file = tmp_path / "password"
    file.write_text("very-wrong-secret")
    db = open_database(loopback, password_file=file)
    with pytest.raises(Exception) as caught:
        db.users.list()
    assert "very-wrong-secret" not in f"{caught.value} {caught.value.problems}"
    db.close()


def test_a_server_that_is_not_there_is_informedon_and_where_it_would_be_only_in_the_log(tmp_path, caplog):
    db = open_database(f"postgresql://ava@/ava?host={tmp_path}")
    refusal = refused(db.users.list)
    assert (refusal.status, refusal.problems[0].code) == (503, "database-unavailable")
    assert str(tmp_path) not in str(refusal.problems)
    assert str(tmp_path) in caplog.text
    db.close()


@pytest.mark.parametrize("table", ["charges", "audit"])
def test_what_is_kept_for_ever_is_not_emptied(world, table):
    world.running()
    world.db.audit.write(NOW, who="a", action="b", object="c", outcome="d", address="e", detail={})
    with pytest.raises(exc.DBAPIError), world.db.engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {table} CASCADE"))
    assert world.db.charges.list() and world.db.audit.list().items


def test_times_are_kept_in_utc_whatever_the_server_thinks(world, database):
    with world.db.engine.begin() as connection:
        connection.execute(text(f"ALTER DATABASE {database} SET timezone = 'Asia/Shanghai'"))
    os.environ.pop("PGTZ", None)
    world.db.engine.dispose()
    run = world.running()
    assert world.db.runs.get(run.id).created == NOW
    assert world.db.runs.get(run.id).created.utcoffset().total_seconds() == 0
