"""The script that takes etcd's snapshots, with an etcdctl and a df of our own, and what it tells node_exporter."""

import hashlib
import os
import time

import pytest

from tests.unit.fakes.roles import ROLES
from tests.unit.fakes.running import sh, stub

SCRIPT = ROLES / "etcd/files/avadm-etcd"
DATA = b"database" * 100
WHOLE = DATA + hashlib.sha256(DATA).digest()


@pytest.fixture
def node(tmp_path):
    """Return a function that runs the script: free bytes, what etcdctl saves, how it ends; and the folder of snapshots."""
    (tmp_path / "env").touch()
    (tmp_path / "data/member/snap").mkdir(parents=True)
    (tmp_path / "data/member/snap/db").write_bytes(bytes(1 << 20))
    folder = tmp_path / "snapshots"
    folder.mkdir()
    half = folder / ".new.77"
    half.write_text("half")
    os.utime(half, (0, 0))

    def run(*words, free=1 << 40, saved=WHOLE, metrics="", ends=0):
        (tmp_path / "saved").write_bytes(saved)
        save = f'case "$*" in *"snapshot save"*) for made; do :; done; cp {tmp_path}/saved "$made" ;; esac'
        stub(tmp_path / "bin/etcdctl", f"{save}\nexit {ends}")
        env = stub(tmp_path / "bin/df", f"echo Avail; echo {free}")
        env |= {"AVADM_ETCD_ENV": str(tmp_path / "env"), "AVADM_ETCD_STORE": str(tmp_path / "store.json")}
        asked = words or ("snapshot", folder, "2", "60", metrics, tmp_path / "data")
        return sh("bash", SCRIPT, *asked, env=env)

    return run, folder


def test_a_snapshot_is_kept_and_what_a_killed_one_left_is_cleared(node):
    run, folder = node
    done = run()
    assert done.returncode == 0, done.stderr
    (kept,) = folder.iterdir()
    assert kept.suffix == ".db"
    assert run("check", str(kept)).returncode == 0


def test_without_space_none_is_begun(node):
    run, folder = node
    done = run(free=64 << 20)
    assert done.returncode == 1
    assert "Remedy: free space" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("saved", [b"", DATA, DATA[:-1] + b"x" + hashlib.sha256(DATA).digest()])
def test_one_that_is_not_whole_is_not_kept(node, saved):
    run, folder = node
    done = run(saved=saved)
    assert done.returncode != 0
    assert "no whole snapshot" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("copied", [False, True])
def test_a_snapshot_that_is_complete_is_reported(node, tmp_path, copied):
    run, _ = node
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    if copied:
        (tmp_path / "store.json").touch()
    assert run(metrics=metrics).returncode == 0
    (report,) = metrics.iterdir()
    assert (report.name, report.stat().st_mode & 0o777) == ("avadm-etcd.prom", 0o644)
    found = dict(line.split() for line in report.read_text().splitlines() if not line.startswith("#"))
    assert found["avadm_etcd_snapshot_interval_seconds"] == "3600"
    assert found["avadm_etcd_copy_wanted"] == str(int(copied))
    assert -1 <= time.time() - int(found["avadm_etcd_snapshot_timestamp_seconds"]) < 60


def test_one_that_fails_is_not_reported(node, tmp_path):
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    assert node[0](metrics=metrics, ends=1).returncode != 0
    assert list(metrics.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("60", "/nonexistent")])
def test_without_the_exporter_s_folder_a_snapshot_is_taken_all_the_same(node, more):
    run, folder = node
    assert run("snapshot", folder, "2", *more).returncode == 0
    assert len(list(folder.glob("2*"))) == 1
