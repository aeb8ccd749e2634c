"""PostgreSQL loses all its data, or what it has is wrong: it comes back as it was at a time, and the platform with it."""
# ruff: noqa: F811 - fixtures of other folders

import json
import time
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from ava.client import ApiError
from tests.lab.ava.conftest import authority, day, platform  # noqa: F401
from tests.lab.ava.user_journey import SMALL
from tests.lab.database.test_backups import backed  # noqa: F401
from tests.lab.database.test_database_lost import Writer
from tests.lab.faults.drive import avadm
from tests.lab.faults.test_bootstrap_marks import eventually

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 300


def archived(database, primary):
    """Have all WAL up to now archived."""
    segment = database.own(primary, "SELECT pg_walfile_name(pg_switch_wal())")[0]
    ask = "SELECT last_archived_wal FROM pg_stat_archiver"
    eventually(lambda: database.own(primary, ask)[0] >= segment)


@contextmanager
def lost(lab, database):
    """Kill all members and move their data away; put back and start what was there where the block fails."""
    primary, standby = database.roles()
    data = database.own(primary, "SHOW data_directory")[0]
    try:
        for node in (standby, primary):
            lab.sh(node, f"systemctl kill -s KILL patroni; systemctl stop patroni; mv {data} {data}.lost")
        yield
    except BaseException:
        for node in (primary, standby):
            lab.run(
                node,
                f"systemctl stop patroni; test -e {data}.lost && rm -rf {data} && mv {data}.lost {data}; "
                "systemctl start --no-block patroni",
            )
        raise
    for node in (standby, primary):
        lab.sh(node, f"rm -rf {data}.lost")


def restored(aim, begun):
    """Restore to a time and return what was reported; tried again while etcd has the lease of one that was killed."""
    argv = ["database", "restore", "--to", aim.isoformat(), "--json"]
    done = avadm(*argv)
    while "leads" in done.stderr and time.monotonic() < begun + 60:
        time.sleep(2)
        done = avadm(*argv)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def known(user, run):
    """Return whether the platform answers for a run, and knows it."""
    try:
        return bool(user.run(run))
    except ApiError as refused:
        if refused.status != 404:
            raise
        return False


def test_after_the_loss_of_all_data_all_up_to_a_time_is_back_and_none_after(
    lab, backed, tried, day, platform
):
    database = backed
    primary, standby = database.roles()
    row = tried(
        "PostgreSQL's data lost on all nodes",
        "a client writes and users run things; the data of both nodes are moved away; a restore to a time in between",
        f"within {LIMIT_S} s every row and run of before is there and none of after; a standby; the platform works",
    )
    earlier = day.start("earlier", "print(1)", roles=[{"each": SMALL}])
    day.succeeded(earlier)
    made = database.ask(standby, "DROP TABLE IF EXISTS charge; CREATE TABLE charge (n bigint PRIMARY KEY);")
    assert made.returncode == 0, made.stderr
    try:
        writer = Writer(database, standby, 45)
        time.sleep(5)
        backup = avadm("database", "backup")
        assert backup.returncode == 0, backup.stderr
        time.sleep(5)
        aim = datetime.now(UTC)
        time.sleep(2)
        later = day.start("later", "import time; time.sleep(900)", roles=[{"each": SMALL}])
        day.until(later, "running")
        report, _, reply = writer.ended()
        times = {int(line.split()[0]): float(line.split()[1]) for line in writer.lines if line[0] != "#"}
        before = {n for n in report if times[n] < aim.timestamp()}
        # A row is committed at most as long before its acknowledgement as it took.
        after = {n for n in report if times[n] > aim.timestamp() + 2}
        assert len(before) > 50, reply
        assert len(after) > 50, reply
        archived(database, primary)
        with lost(lab, database):
            begun = time.monotonic()
            report = restored(aim, begun)
            took = time.monotonic() - begun
            assert set(database.whole(120)) == {primary, standby}
            kept = {int(n) for n in database.ask(standby, "SELECT n FROM charge").stdout.split()}
            assert before - kept == set()
            assert after & kept == set()
        assert report["kept"] == {}
        assert known(day.user, earlier)
        assert not known(day.user, later)
        answers = time.monotonic() - begun
        day.succeeded(day.start("after", "print(1)", roles=[{"each": SMALL}]))
        works = time.monotonic() - begun
        # The state has forgotten it, so its pods are no one's.
        eventually(lambda: not platform.ctl(f"get pods --all-namespaces -l ava.io/run={later}")["items"], 180)
        row.came = (
            f"{len(before)} rows acknowledged before, {len(before - kept)} lost; {len(after)} after, {len(after & kept)} there;"
            f" {took:.0f} s, of which nothing could be asked for {report['stood_still_s']:.0f} s; the platform answered after"
            f" {answers:.0f} s, a new run had succeeded after {works:.0f} s; the run begun after that time is gone, pods included"
        )
        assert took < LIMIT_S
        backup = avadm("database", "backup", "--json")
        assert backup.returncode == 0, backup.stderr
    finally:
        database.ask(standby, "DROP TABLE IF EXISTS charge;")


def test_an_archive_that_takes_nothing_is_reported(lab, backed, tried):
    database = backed
    primary, _ = database.roles()
    row = tried(
        "PostgreSQL's archive",
        "the store's address leads nowhere on the primary's node",
        "metrics and doctor tell it",
    )
    lab.sh(
        primary,
        "cp /etc/hosts /root/hosts.lab; sed '/objects/s/^[0-9.]*/10.77.0.222/' /root/hosts.lab >/etc/hosts",
    )
    try:
        database.own(primary, "SELECT pg_switch_wal()")
        failed = "SELECT coalesce(last_failed_time > last_archived_time, false) FROM pg_stat_archiver"
        eventually(lambda: database.own(primary, failed) == ["t"], 240)
        lab.run(primary, "systemctl start avadm-database-look")
        report = lab.sh(primary, "cat /var/lib/prometheus/node-exporter/avadm-database.prom")
        assert "avadm_database_archive_failing 1" in report
        assert "avadm_database_repository_answers 0" in report
        doctor = avadm("doctor", "--only", "database-archive", "--json")
        assert doctor.returncode == 1
        assert "could not be archived" in doctor.stdout
    finally:
        lab.sh(primary, "cat /root/hosts.lab >/etc/hosts; rm /root/hosts.lab")
    eventually(lambda: database.own(primary, failed) == ["f"], 240)
    lab.sh(primary, "systemctl start avadm-database-look")
    row.came = "reported by metrics and the doctor; what waited was archived by itself"
