"""The dump that AVA's upgrade takes first, of a real PostgreSQL: whole and checked, or not there; it restores what was there."""

import subprocess
from pathlib import Path

import psycopg
import pytest

from avadm_node.probes.ava import database as module
from avadm_node.probes.health.system import Failed
from tests.unit.ava.db.world import World


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "dumps")


@pytest.fixture(autouse=True)
def here(server, monkeypatch):
    """Programs of PostgreSQL ask the test's server, as on a node they ask the node's."""
    for name, value in {"PGHOST": server.folder, "PGPORT": server.port, "PGUSER": "postgres"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(module, "AS_POSTGRES", [])


def head(url):
    from ava.db.database import revisions

    return revisions(url)[0]


def dump(database, folder, revision, clock=lambda: 1_790_000_000.0):
    return module.dump({"database": database, "revision": revision}, folder, clock)


def test_the_dump_restores_users_runs_and_charges(db, database, url, server, folder):
    world = World(db)
    run = world.running()
    seen = module.ask({"database": database}, folder)
    assert (seen["recovery"], seen["revision"]) == (False, head(url))
    assert seen["bytes"] > 0 and seen["free"] > 0
    made = dump(database, folder, seen["revision"])
    assert Path(made["path"]).stat().st_mode & 0o777 == 0o600
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert made["tables"] > 20
    assert module.dumps({}, folder) == {"dumps": [[seen["revision"], 1_790_000_000]]}
    other = server.create()
    subprocess.run(["pg_restore", "--exit-on-error", f"--dbname={other}", made["path"]], check=True)
    with psycopg.connect(server.url(other)) as connection:
        assert connection.execute("SELECT id FROM runs").fetchall() == [(run.id,)]
        assert connection.execute("SELECT count(*) FROM charges WHERE ended IS NULL").fetchone() == (1,)
    server.drop(other)


def test_a_database_of_another_revision_is_not_dumped(database, folder):
    with pytest.raises(Failed, match="revision 0001"):
        dump(database, folder, "0001")
    assert not Path(folder).exists()


def test_a_database_without_tables_is_an_error_and_not_an_empty_dump(server, folder):
    empty = server.create()
    with pytest.raises(Failed, match="alembic_version"):
        module.ask({"database": empty}, folder)
    server.drop(empty)


def test_a_dump_that_cannot_be_written_leaves_nothing(database, url, folder, monkeypatch):
    monkeypatch.setattr(module, "_damage", lambda path, revision: "cut off")
    with pytest.raises(Failed, match="cut off"):
        dump(database, folder, head(url))
    assert list(Path(folder).iterdir()) == []


@pytest.mark.parametrize("fault", ["cut", "empty", "other revision", "text"])
def test_a_damaged_dump_does_not_count(database, url, folder, fault):
    revision = head(url)
    path = Path(dump(database, folder, revision)["path"])
    with path.open("r+b") as file:
        if fault == "cut":
            file.truncate(path.stat().st_size * 2 // 3)
        if fault == "empty":
            file.truncate(0)
        if fault == "text":
            file.write(b"no dump at all")
    if fault == "other revision":
        path.rename(str(path).replace(f"-{revision}-", "-0001-"))
    assert module.dumps({}, folder) == {"dumps": []}


def test_what_a_killed_dump_left_goes_and_old_ones_too(database, url, folder):
    Path(folder).mkdir()
    for name in ("ava-0001-20260101T000000Z.dump.part", "notes"):
        (Path(folder) / name).write_text("x")
    for number in range(5):
        dump(database, folder, head(url), lambda n=number: 1_790_000_000.0 + n)
    names = [path.name for path in Path(folder).iterdir()]
    assert len(names) == 4 and "notes" in names and not any(n.endswith(".part") for n in names)
    assert [at for _, at in module.dumps({}, folder)["dumps"]] == [
        1_790_000_002,
        1_790_000_003,
        1_790_000_004,
    ]


@pytest.mark.parametrize("revision", ["", "a/b", "x\n", "../x"])
def test_a_revision_is_no_path(database, folder, revision):
    with pytest.raises(ValueError, match="no revision"):
        dump(database, folder, revision)
