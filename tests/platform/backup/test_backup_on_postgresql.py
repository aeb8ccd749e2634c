"""avadm_node/agents/database on a real PostgreSQL and pgbackrest: to a point in time and back, and what a verification finds."""

import shutil
from pathlib import Path

import pytest

from avadm_node.agents.database import backup, look, restore, verify
from avadm_node.agents.database.place import BackupError


def verified(rig):
    """Return what a standby's verification finds."""
    rig.role = "standby"
    try:
        return verify.verify(rig.place, say=lambda line: None)
    finally:
        rig.role = "primary"


@pytest.mark.slow
def test_every_row_up_to_a_time_is_back_none_after_and_nothing_is_removed(rig):
    rig.write(1, 50)
    assert backup.make(rig.place)["type"] == "full"
    rig.write(51, 200)
    aim = rig.now()
    rig.write(201, 300)
    rig.archived()
    # Beside the living server, which continues; twice, as after one that was killed.
    for _ in range(2):
        assert restore.prepare(rig.place, aim)["last"] > aim.removesuffix("+00")
    rig.write(301, 310)
    assert rig.rows() == list(range(1, 311))
    with pytest.raises(BackupError, match="PostgreSQL runs on d1"):
        restore.finish(rig.place)
    rig.server.stop("fast")
    done = restore.finish(rig.place)
    assert done["timeline"] == 2
    rig.server.start()
    assert rig.rows() == list(range(1, 201))
    # Nothing of the restore is left in its settings: it would stop there again as a standby.
    assert "recovery_target" not in (rig.server.data / "postgresql.auto.conf").read_text()
    assert Path(done["aside"], "PG_VERSION").exists()
    # The new history is backed up, and leads on.
    assert look.look(rig.place) == "the primary is another one since"
    backup.make(rig.place)
    rig.write(1001, 1010)
    look.look(rig.place)
    rig.archived()
    assert verified(rig)["wrong"] == []
    # What was given up can still be had, by the data that were kept.
    rig.server.stop("fast")
    shutil.rmtree(rig.server.data)
    Path(done["aside"]).rename(rig.server.data)
    rig.server.start()
    assert rig.rows() == list(range(1, 311))


def test_the_loss_of_everything_is_made_good_up_to_the_last_archived_row(rig):
    backup.make(rig.place)
    rig.write(1, 100)
    rig.archived()
    rig.server.stop()
    shutil.rmtree(rig.server.data)
    restore.prepare(rig.place, "")
    assert restore.finish(rig.place)["aside"] == ""
    rig.server.start()
    assert rig.rows() == list(range(1, 101))


def test_a_time_that_the_archive_does_not_reach_changes_nothing(rig):
    backup.make(rig.place)
    rig.write(1, 10)
    rig.archived()
    with pytest.raises(
        BackupError, match=r"the archive ends before 2999-01-01.* Remedy: take an earlier time, or `latest`"
    ):
        restore.prepare(rig.place, "2999-01-01 00:00:00.000+00")
    with pytest.raises(BackupError, match="no backup that was through by 2001"):
        restore.prepare(rig.place, "2001-01-01 00:00:00.000+00")
    assert rig.rows() == list(range(1, 11))


@pytest.mark.slow
def test_a_damaged_page_a_missing_segment_and_a_lost_table_are_found(rig, monkeypatch):
    rig.write(1, 100)
    look.look(rig.place)
    backup.make(rig.place)
    look.look(rig.place)
    rig.archived()
    good = verified(rig)
    assert (good["good"], good["wrong"]) == (True, [])

    bring = verify.bring

    def damaging(place, folder, *words):
        bring(place, folder, *words)
        with Path(folder, "base/1/1255").open("r+b") as file:
            file.seek(3 * 8192 + 4000)
            file.write(b"damaged")

    monkeypatch.setattr(verify, "bring", damaging)
    assert any("checksum" in line for line in verified(rig)["wrong"])
    monkeypatch.setattr(verify, "bring", bring)

    rig.sql("CREATE TABLE later (n int)")
    assert verified(rig)["wrong"] == ["postgres: the table public.later is missing"]
    rig.sql("DROP TABLE later")

    # A gap: what was archived after it is there, and cannot be reached.
    rig.write(101, 110)
    rig.archived()
    gone = max(path for path in segments(rig) if ".history" not in path.name)
    gone.unlink()
    rig.write(111, 120)
    rig.place.settings["heartbeat_s"] = 0
    look.look(rig.place)
    rig.archived()
    assert any("WAL is missing in the archive" in line for line in verified(rig)["wrong"])
    text = (rig.state / "avadm-database.prom").read_text()
    assert "avadm_database_verify_failed 1" in text
    assert f"avadm_database_verified_timestamp_seconds {good['at']}" in text


def segments(rig):
    """Return the segments that the repository has."""
    return list((rig.repo / "archive").rglob("*.zst"))


def test_wal_that_is_not_taken_waits_and_is_reported(rig):
    backup.make(rig.place)
    rig.archived()
    away = rig.repo.with_name("away")
    rig.repo.rename(away)
    try:
        rig.write(1, 10)
        rig.sql("SELECT pg_switch_wal()")
        end = 100
        while not rig.sql(
            "SELECT 1 FROM pg_stat_archiver WHERE last_failed_time > coalesce(last_archived_time, '-infinity')"
        ):
            end -= 1
            assert end
            rig.sql("SELECT pg_sleep(0.2)")
        look.look(rig.place, complain=lambda line: None)
        text = (rig.state / "avadm-database.prom").read_text()
        assert "avadm_database_archive_failing 1" in text
        assert "avadm_database_repository_answers 0" in text
        assert f"avadm_database_archive_waiting_bytes {16 << 20}" in text
    finally:
        away.rename(rig.repo)
    rig.archived()
    look.look(rig.place)
    assert "avadm_database_archive_failing 0" in (rig.state / "avadm-database.prom").read_text()
