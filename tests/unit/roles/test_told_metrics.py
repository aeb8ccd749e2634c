"""What nodes' own programs tell node_exporter: when certificates end, when etcd was last saved."""

import base64
import hashlib
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from avadm.pki import certs

ROLES = Path(__file__).parents[3] / "roles"
TOOL = ROLES / "node_exporter/files/avadm-certificates"
ETCD = ROLES / "etcd/files/avadm-etcd"
AT = datetime(2026, 3, 1, tzinfo=UTC)


def samples(path):
    """Return sample to value of a file; all else in it is comment."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def told(tmp_path, *files):
    out = tmp_path / "out.prom"
    done = subprocess.run(["bash", TOOL, out, *files], capture_output=True, text=True, check=False)
    assert [p.name for p in tmp_path.glob("out*")] == ["out.prom"], "nothing half-written stays"
    return samples(out), done


@pytest.fixture
def pems():
    """Certificates that begin at AT and a day later."""
    return [certs.authority("test", certs.new_key(), AT + timedelta(days=d)) for d in (0, 1)]


def test_the_life_of_each_certificate_is_told(tmp_path, pems):
    one, bundle, config = tmp_path / "one.crt", tmp_path / "bundle.pem", tmp_path / "config"
    one.write_text(pems[0])
    bundle.write_text(pems[1] + pems[0])
    config.write_text(f"users:\n    client-certificate-data: {base64.b64encode(pems[1].encode()).decode()}\n")
    found, done = told(tmp_path, one, bundle, config)
    assert done.returncode == 0, done.stderr
    life = {
        path: (
            found[f'avadm_certificate_not_before_timestamp_seconds{{path="{path}"}}'],
            found[f'avadm_certificate_not_after_timestamp_seconds{{path="{path}"}}'],
        )
        for path in (one, bundle, config)
    }
    assert len(found) == 6
    day = 86400
    assert life[one][1] - life[one][0] == pytest.approx(certs.AUTHORITY_DAYS * day, abs=day)
    assert abs(life[one][0] - AT.timestamp()) <= day / 2
    assert life[bundle] == life[config] == (life[one][0] + day, life[one][1] + day)


def test_what_is_no_certificate_is_named_and_hides_no_other(tmp_path, pems):
    (tmp_path / "bad.crt").write_text("nothing")
    (tmp_path / "good.crt").write_text(pems[0])
    found, done = told(tmp_path, tmp_path / "bad.crt", tmp_path / "good.crt", tmp_path / "*.none")
    assert done.returncode == 1
    assert "bad.crt: no certificate" in done.stderr
    assert len(found) == 2


def test_a_node_without_certificates_tells_of_none(tmp_path):
    found, done = told(tmp_path, "/nonexistent/*.crt")
    assert (found, done.returncode) == ({}, 0)


def snapshot(tmp_path, fails, *more):
    """Run the snapshot with an etcdctl of the test's own; return its exit status."""
    whole = tmp_path / "whole"
    whole.write_bytes(b"data" + hashlib.sha256(b"data").digest())
    (tmp_path / "etcdctl").write_text(
        f'#!/bin/sh\ncase "$*" in *"snapshot save"*) cat {whole} >"$4";; esac\nexit {int(fails)}\n'
    )
    (tmp_path / "etcdctl").chmod(0o755)
    (tmp_path / "env").write_text("")
    program = tmp_path / "avadm-etcd"
    program.write_text(ETCD.read_text().replace("/etc/etcd/etcdctl.env", str(tmp_path / "env")))
    (tmp_path / "saved").mkdir(exist_ok=True)
    store = {"AVADM_ETCD_STORE": str(tmp_path / "store.json")}
    env = os.environ | store | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", program, "snapshot", tmp_path / "saved", "2", *more], env=env, check=False
    ).returncode


@pytest.mark.parametrize("copied", [False, True])
def test_a_snapshot_that_is_complete_is_told(tmp_path, copied):
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    if copied:
        (tmp_path / "store.json").touch()
    assert snapshot(tmp_path, False, "60", metrics) == 0
    found = samples(metrics / "avadm-etcd.prom")
    assert found["avadm_etcd_snapshot_interval_seconds"] == 3600
    assert found["avadm_etcd_copy_wanted"] == int(copied)
    age = datetime.now(UTC).timestamp() - found["avadm_etcd_snapshot_timestamp_seconds"]
    assert -1 <= age < 60
    assert (metrics / "avadm-etcd.prom").stat().st_mode & 0o777 == 0o644
    assert [p.name for p in metrics.iterdir()] == ["avadm-etcd.prom"]


def test_one_that_fails_is_not_told(tmp_path):
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    assert snapshot(tmp_path, True, "60", metrics) != 0
    assert list(metrics.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("60", "/nonexistent")])
def test_without_the_exporter_s_folder_a_snapshot_is_taken_all_the_same(tmp_path, more):
    assert snapshot(tmp_path, False, *more) == 0
    assert len(list((tmp_path / "saved").iterdir())) == 1


KERNEL = {
    "host": "Out of memory: Killed process 7 (ceph-osd) total-vm:9kB",
    "limit": "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/system.slice/grafana.service,task=g,pid=8\n"
    "Memory cgroup out of memory: Killed process 8 (grafana)",
    "pod": "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods/pod1a2b3c4d-11/4f5e,task=python,pid=9\n"
    "Memory cgroup out of memory: Killed process 9 (python)",
    "old-pod": "Task in /kubepods/pod1a2b3c4d-11/4f5e killed as a result of limit of /kubepods/pod1a2b3c4d-11\n"
    "Memory cgroup out of memory: Kill process 9 (python) score 1900 or sacrifice child\nKilled process 9 (python)",
    "pods": "Task in /kubepods/pod1a2b3c4d-11 killed as a result of limit of /kubepods\n"
    "Memory cgroup out of memory: Kill process 9 (python) score 1900 or sacrifice child",
}


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((), (0, 0, 0)),
        (("host",), (1, 0, 0)),
        (("limit",), (0, 1, 0)),
        (("pod",), (0, 0, 1)),
        (("old-pod", "pod"), (0, 0, 2)),
        (("pods",), (0, 1, 0)),  # all pods together: the node has promised too much
        (("pod", "host", "limit"), (1, 1, 1)),
    ],
)
def test_whose_memory_was_short_is_told(tmp_path, monkeypatch, lines, wanted):
    journal = tmp_path / "bin/journalctl"
    journal.parent.mkdir()
    (tmp_path / "kernel").write_text("\n".join(["usb 1-1: new device", *(KERNEL[i] for i in lines)]) + "\n")
    journal.write_text(f'#!/bin/sh\ncase "$*" in *--dmesg*) cat {tmp_path}/kernel;; *) exit 1;; esac\n')
    journal.chmod(0o755)
    monkeypatch.setenv("PATH", f"{journal.parent}:{os.environ['PATH']}")
    out = tmp_path / "oom.prom"
    subprocess.run(["bash", ROLES / "node_exporter/files/avadm-oom", out], check=True)
    found = samples(out)
    assert tuple(found[f'avadm_oom_kills{{within="{w}"}}'] for w in ("host", "limit", "pod")) == wanted
