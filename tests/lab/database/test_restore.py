"""PostgreSQL loses all its data, or what it has is wrong: it comes back as it was at a time, and the platform with it."""

import json
import time
from datetime import UTC, datetime

import pytest

from tests.lab.database.test_backups import backed  # noqa: F401
from tests.lab.database.test_database_lost import Writer
from tests.lab.faults.drive import avadm
from tests.lab.faults.test_founded import eventually

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMIT_S = 300


def archived(database, primary):
    """Have all WAL up to now archived."""
    segment = database.own(primary, "SELECT pg_walfile_name(pg_switch_wal())")[0]
    ask = "SELECT last_archived_wal FROM pg_stat_archiver"
    eventually(lambda: database.own(primary, ask)[0] >= segment)


def ready(lab):
    """Return whether every part of the platform has a pod that is ready."""
    ask = "kubectl --kubeconfig=/root/.kube/config --namespace=ava-system get deployments"
    text = lab.sh(
        lab.names("master")[0], ask + " -o 'jsonpath={range .items[*]}{.status.readyReplicas},{end}'"
    )
    return all(int(n or 0) > 0 for n in text.strip(",").split(","))


def test_after_the_loss_of_all_data_every_row_up_to_a_time_is_back_and_none_after(lab, backed, tried):  # noqa: F811
    database = backed
    primary, standby = database.roles()
    row = tried(
        "PostgreSQL's data lost on all nodes",
        "a client writes; the data of both nodes are moved away; a restore to a time in between",
        f"within {LIMIT_S} s every row acknowledged before that time is there and none after; a standby; the platform works",
    )
    made = database.ask(standby, "DROP TABLE IF EXISTS charge; CREATE TABLE charge (n bigint PRIMARY KEY);")
    assert made.returncode == 0, made.stderr
    try:
        writer = Writer(database, standby, 20)
        time.sleep(5)
        backup = avadm("database", "backup")
        assert backup.returncode == 0, backup.stderr
        time.sleep(5)
        aim = datetime.now(UTC)
        told, _, said = writer.ended()
        times = {int(line.split()[0]): float(line.split()[1]) for line in writer.lines if line[0] != "#"}
        before = {n for n in told if times[n] < aim.timestamp()}
        # A row is committed at most as long before its acknowledgement as it took.
        after = {n for n in told if times[n] > aim.timestamp() + 2}
        assert len(before) > 50, said
        assert len(after) > 50, said
        archived(database, primary)
        data = database.own(primary, "SHOW data_directory")[0]
        for node in (standby, primary):
            lab.sh(node, f"systemctl kill -s KILL patroni; systemctl stop patroni; mv {data} {data}.lost")
        begun = time.monotonic()
        # While etcd still has the lease of one that was killed, nobody knows that it does not live.
        restore = ["database", "restore", "--to", aim.isoformat(), "--json"]
        done = avadm(*restore)
        while "leads" in done.stderr and time.monotonic() < begun + 60:
            time.sleep(2)
            done = avadm(*restore)
        assert done.returncode == 0, done.stdout + done.stderr
        took = time.monotonic() - begun
        told = json.loads(done.stdout)
        assert set(database.whole(120)) == {primary, standby}
        kept = {int(n) for n in database.ask(standby, "SELECT n FROM charge").stdout.split()}
        eventually(lambda: ready(lab))
        row.came = (
            f"{len(before)} rows acknowledged before, {len(before - kept)} lost; {len(after)} after, {len(after & kept)} there;"
            f" {took:.0f} s, of which nothing could be asked for {told['stood_still_s']:.0f} s; the platform's pods ready after"
            f" {time.monotonic() - begun:.0f} s"
        )
        assert before - kept == set()
        assert after & kept == set()
        assert told["kept"] == {}
        # Until here they could have been put back.
        for node in (standby, primary):
            lab.sh(node, f"rm -rf {data}.lost")
        assert took < LIMIT_S
        backup = avadm("database", "backup", "--json")
        assert backup.returncode == 0, backup.stderr
    finally:
        if database.members():
            database.ask(standby, "DROP TABLE IF EXISTS charge;")


def test_an_archive_that_takes_nothing_is_told(lab, backed, tried):  # noqa: F811
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
        told = lab.sh(primary, "cat /var/lib/prometheus/node-exporter/avadm-database.prom")
        assert "avadm_database_archive_failing 1" in told
        assert "avadm_database_repository_answers 0" in told
        doctor = avadm("doctor", "--only", "database-archive", "--json")
        assert doctor.returncode == 1
        assert "could not be archived" in doctor.stdout
    finally:
        lab.sh(primary, "cat /root/hosts.lab >/etc/hosts; rm /root/hosts.lab")
    eventually(lambda: database.own(primary, failed) == ["f"], 240)
    lab.sh(primary, "systemctl start avadm-database-look")
    row.came = "told by metrics and the doctor; what waited was archived by itself"
