"""avadm_node/agents/database: when a backup is due, what is reported, what a verification calls wrong, what a restore refuses."""

import json
from pathlib import Path

import pytest

from avadm_node.agents.database import backup, look, restore, verify
from avadm_node.agents.database.place import BackupError, Place, settled
from avadm_node.agents.database.scratch import Scratch
from tests.unit.fakes.roles import ROLES
from tests.unit.fakes.running import sh, stub

DAY = 86400
NOW = 1_795_521_600  # 2026-11-24T12:00:00Z


def made(start, kind="diff", line=2, **more):
    """Return a backup as pgbackrest tells it, begun so many seconds ago."""
    at = NOW - start
    archive = {"start": f"{line:08X}000000000000000A", "stop": ""}
    repository = {"delta": 9}
    return {
        "label": f"{start}", "type": kind, "archive": archive, "timestamp": {"start": at, "stop": at + 5},
        "info": {"size": 77, "repository": repository}, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("backups", "more", "why"),
    [
        ([], {}, "there is none"),
        ([made(9 * 3600)], {}, ""),
        ([made(11 * 3600)], {}, "the last one is of yesterday"),
        ([made(9 * 3600, line=1)], {}, "the primary is another one since"),
        ([made(9 * 3600)], {"dropped": NOW - 60}, "WAL was given up since"),
        ([made(3600)], {"dropped": NOW - 7200}, ""),
        # It failed a moment ago, whatever is due; an hour later it is tried again.
        ([], {"tried": NOW - 3000}, ""),
        ([], {"tried": NOW - 3700}, "there is none"),
    ],
)
def test_a_backup_is_due(backups, more, why):
    given = {"dropped": 0, "tried": 0, **more}
    assert look.due(backups, NOW, 2, 2, given["dropped"], given["tried"]) == why


@pytest.mark.parametrize(
    ("hour", "since"), [(2, 10 * 3600), (12, 0), (13, 23 * 3600)], ids=["this night", "now", "yesterday"]
)
def test_a_nightly_backup_is_due_at_its_hour(hour, since):
    assert look.nightly(NOW, hour) == NOW - since


@pytest.mark.parametrize(
    ("backups", "kind"),
    [
        ([], "full"),
        ([made(100)], "full"),
        ([made(6 * DAY, "full")], "diff"),
        ([made(7 * DAY - 1800, "full"), made(DAY)], "full"),
        # Of a history that was left by a restore to an earlier time.
        ([made(DAY, "full", line=3)], "full"),
    ],
)
def test_a_full_one_is_made_once_a_week(backups, kind):
    assert backup.kind(backups, NOW, 7, 2) == kind


class Node:
    """A node's programs: what each says, by the words that it is called with."""

    def __init__(self, **answers):
        self.answers, self.asked, self.sent = answers, [], []

    def __call__(self, argv, timeout, stdin=None, user=None):
        line = " ".join(argv)
        self.asked.append((user, line))
        self.sent.append(stdin)
        for words, answer in self.answers.items():
            if words in line or words in (stdin or ""):
                return answer if isinstance(answer, tuple) else (0, answer, "")
        return 0, "", ""


@pytest.fixture
def place(tmp_path, monkeypatch):
    settings = {
        "name": "d1", "stanza": "avadm", "scope": "t", "data": str(tmp_path / "data"), "bin": "/bin", "port": "5432",
        "api": "https://10.0.0.2:8008", "state": str(tmp_path), "metrics": str(tmp_path), "hour": "2", "full_days": "7",
        "heartbeat_s": "300",
    }  # fmt: skip

    def call(role="primary", **answers):
        node = Node(**answers)
        one = Place(settings, node)
        monkeypatch.setattr(Place, "role", lambda self: role)
        one.node = node
        return one

    return call


def info(*backups, code=0):
    return json.dumps([{"status": {"code": code, "message": "missing stanza path"}, "backup": list(backups)}])


def read_metrics(folder):
    lines = (folder / "avadm-database.prom").read_text().splitlines()
    return {
        line.split()[0][len("avadm_database_") :]: int(line.split()[1]) for line in lines if line[0] != "#"
    }


def test_the_primary_tells_how_archive_and_backups_do(place, tmp_path):
    one = place(info=info(made(11 * 3600)), pg_stat_archiver=f"{NOW - 9}|1|5|2\n")
    assert look.look(one, NOW) == "the last one is of yesterday"
    reply = read_metrics(tmp_path)
    assert (reply["archive_failing"], reply["archive_waiting_bytes"]) == (1, 5 << 24)
    assert (reply["backup_timestamp_seconds"], reply["backups"]) == (NOW - 11 * 3600 + 5, 1)
    assert (reply["repository_answers"], reply["backup_failed"], reply["archive_dropped"]) == (1, 0, 0)
    assert any("avadm.heartbeat" in (text or "") for text in one.node.sent)


def test_a_repository_that_does_not_answer_is_reported_and_nothing_is_due(place, tmp_path):
    one = place(info=(103, "", "unable to connect"), pg_stat_archiver=f"{NOW}|0|0|2\n")
    words = []
    assert look.look(one, NOW, words.append) == ""
    assert read_metrics(tmp_path)["repository_answers"] == 0
    assert "unable to connect" in words[0]


def test_a_standby_tells_of_its_own_and_asks_no_one(place, tmp_path):
    one = place("standby")
    one.remember("verify", {"good": False, "good_at": NOW - DAY, "seconds": 7})
    assert look.look(one, NOW) == ""
    assert read_metrics(tmp_path) == {
        "looked_timestamp_seconds": NOW, "verified_timestamp_seconds": NOW - DAY, "verify_failed": 1, "verify_seconds": 7,
    }  # fmt: skip
    assert one.node.asked == []


def test_a_backup_that_is_cut_off_counts_as_one_that_failed(place):
    one = place(info=info(), timeline_id="2\n", **{"backup --type": (38, "", "out of space")})
    with pytest.raises(BackupError, match="out of space"):
        backup.make(one, now=NOW)
    assert one.remembered("backup") == {"failed_at": NOW}
    with pytest.raises(BackupError, match="not the primary"):
        backup.make(place("standby"))


def test_no_one_makes_two_backups_at_once(place):
    one = place()
    with one.alone("backup"), pytest.raises(BackupError, match="another backup is at work"):
        backup.make(one)


def test_pgbackrest_runs_as_postgres_and_sql_is_no_argument(place):
    one = place()
    one.sql("SELECT secret")
    one.pgbackrest("info")
    assert {user for user, _ in one.node.asked} == {"postgres"}
    # Before anything else: functions of a database's owner are never found first.
    assert one.node.sent[0].startswith("SET search_path = pg_catalog;\n")
    assert not any("secret" in line for _, line in one.node.asked)


LIVING = {
    "ava": {"rows": {"public.runs": 5000, "public.charges": 9000}, "revision": ["0004"]},
    "postgres": {"rows": {}},
}


@pytest.mark.parametrize(
    ("change", "answers"),
    [
        ({}, []),
        ({"ava": {"rows": {"public.runs": 2600, "public.charges": 4600}, "revision": ["0004"]}}, []),
        (
            {"ava": {"rows": {"public.runs": 2400, "public.charges": 9000}, "revision": ["0004"]}},
            ["runs has 2400 rows"],
        ),
        ({"ava": {"rows": {"public.runs": 5000}, "revision": ["0004"]}}, ["public.charges is missing"]),
        ({"ava": {**LIVING["ava"], "revision": ["0003"]}}, ["has the revision ['0003'], wanted ['0004']"]),
        ({"ava": None}, ["the database ava is missing"]),
    ],
)
def test_what_was_restored_is_held_against_the_living(change, answers):
    restored = {name: value for name, value in {**LIVING, **change}.items() if value is not None}
    wrong = verify.compared(restored, LIVING)
    assert len(wrong) == len(answers)
    assert all(words in line for words, line in zip(answers, wrong, strict=True))


def test_a_disk_without_room_is_shown_before_anything_is_written(place, tmp_path):
    large = made(100, info={"size": 1 << 60, "repository": {}})
    one = place("standby", info=info(large))
    assert verify.verify(one, say=lambda line: None)["wrong"][0].startswith(f"{tmp_path} has ")
    assert not any("restore" in line for _, line in one.node.asked)
    assert one.remembered("verify")["good"] is False


def test_a_verification_that_fails_keeps_when_the_last_good_one_was(place):
    one = place("standby", info=info())
    one.remember("verify", {"good": True, "good_at": NOW - DAY})
    assert "no backup yet" in verify.verify(one, say=lambda line: None)["wrong"][0]
    assert one.remembered("verify")["good_at"] == NOW - DAY


@pytest.mark.parametrize("target", ["2026-11-24 11:50:00.000+00", "2026-11-24 12:00:00.000+00"])
def test_a_time_before_every_backup_is_refused(place, target):
    one = place("", info=info(made(-60)))
    with pytest.raises(BackupError, match="no backup that was through by"):
        restore.prepare(one, target)


def test_a_backup_of_a_history_that_was_given_up_is_passed_over(place, monkeypatch):
    one = place("", info=info(made(9000, "full"), made(5000)))
    tried = []

    def start(self, timeout, more=""):
        tried.append(next(line for _, line in reversed(one.node.asked) if "--set=" in line))
        if "--set=5000" in tried[-1]:
            raise BackupError("requested timeline 3 is not a child of this server's history")
        return False

    monkeypatch.setattr(Scratch, "start", start)
    assert restore.prepare(one, "2026-11-24 12:00:00.000+00")["label"] == "9000"
    assert len(tried) == 2
    assert all("--target-action=shutdown" in line for line in tried)


def test_data_are_renamed_and_never_removed(place, tmp_path):
    one = place("")
    assert restore.put_aside(one) == ""
    (tmp_path / "data").mkdir()
    assert restore.put_aside(one) == ""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/PG_VERSION").write_text("15")
    aside = restore.put_aside(one)
    assert aside.startswith(f"{tmp_path}/data.before-2")
    assert (Path(aside) / "PG_VERSION").exists()


def test_nothing_is_put_in_place_while_a_server_runs(place, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(restore, "active", lambda unit: False)
    with pytest.raises(BackupError, match="PostgreSQL runs on d1"):
        restore.finish(place(""))
    monkeypatch.setattr(restore, "active", lambda unit: True)
    with pytest.raises(BackupError, match="Patroni runs on d1"):
        restore.finish(place(""))


def test_a_site_without_backups_is_informed(tmp_path):
    with pytest.raises(BackupError, match="this site has no backups"):
        settled(str(tmp_path / "nothing.json"))


PUSH = ROLES / "database/files/avadm-pgbackrest-archive"


@pytest.mark.parametrize(
    ("script", "code", "dropped"),
    [
        ("exit 0", 0, False),
        ("echo cannot >&2; exit 103", 103, False),
        ("echo 'WARN: dropped WAL file 00000001 because archive queue exceeded 16GB' >&2", 0, True),
    ],
)
def test_a_segment_that_fails_is_kept_and_one_that_is_given_up_leaves_a_mark(tmp_path, script, code, dropped):
    text = PUSH.read_text().replace("/etc/pgbackrest/pgbackrest.conf", f"{tmp_path}/conf")
    (tmp_path / "push").write_text(text.replace("/var/lib/avadm-database/archive", str(tmp_path)))
    env = stub(tmp_path / "bin/pgbackrest", script)
    without = sh("sh", tmp_path / "push", "pg_wal/1", env=stub(tmp_path / "bin/pgbackrest", "exit 7"))
    assert without.returncode == 0, "without its configuration there is no archive"
    (tmp_path / "conf").touch()
    stub(tmp_path / "bin/pgbackrest", script)
    assert sh("sh", tmp_path / "push", "pg_wal/1", env=env).returncode == code
    assert (tmp_path / "dropped").exists() == dropped
