"""The script that takes etcd's snapshots, with an etcdctl and a df of our own."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "roles/etcd/files/avadm-etcd"
DATA = b"data base" * 100
WHOLE = DATA + hashlib.sha256(DATA).digest()


@pytest.fixture
def node(tmp_path):
    """Return a function that runs the script: free bytes, and what etcdctl saves; and the folder of snapshots."""
    (tmp_path / "env").touch()
    (tmp_path / "data/member/snap").mkdir(parents=True)
    (tmp_path / "data/member/snap/db").write_bytes(bytes(1 << 20))
    folder, programs = tmp_path / "snapshots", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    half = folder / ".new.77"
    half.write_text("half")
    os.utime(half, (0, 0))

    def run(*words, free=1 << 40, saved=WHOLE):
        (tmp_path / "saved").write_bytes(saved)
        save = f'case "$*" in *"snapshot save"*) for made; do :; done; cp {tmp_path}/saved "$made" ;; esac'
        for name, text in {"df": f"echo Avail; echo {free}", "etcdctl": save}.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        env = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "AVADM_ETCD_ENV": str(tmp_path / "env"),
        }
        asked = words or ("snapshot", str(folder), "2", "60", "", str(tmp_path / "data"))
        return subprocess.run(["bash", SCRIPT, *asked], env=env, capture_output=True, text=True, check=False)

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
