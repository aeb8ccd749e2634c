"""What nodes' own programs tell node_exporter: when certificates end, whose memory was short."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from avadm.pki import certs
from tests.unit.fakes.roles import ROLES
from tests.unit.fakes.running import sh, stub

TOOLS = ROLES / "node_exporter/files"
AT = datetime(2026, 3, 1, tzinfo=UTC)


def samples(path):
    """Return sample to value of a file; all else in it is comment."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def run_exporter(tmp_path, *files):
    out = tmp_path / "out.prom"
    done = sh("bash", TOOLS / "avadm-certificates", out, *files)
    assert [p.name for p in tmp_path.glob("out*")] == ["out.prom"], "nothing half-written stays"
    return samples(out), done


@pytest.fixture
def pems():
    """Certificates that begin at AT and a day later."""
    return [certs.authority("test", certs.new_key(), AT + timedelta(days=d)) for d in (0, 1)]


def test_the_life_of_each_certificate_is_reported(tmp_path, pems):
    one, bundle, config = tmp_path / "one.crt", tmp_path / "bundle.pem", tmp_path / "config"
    one.write_text(pems[0])
    bundle.write_text(pems[1] + pems[0])
    config.write_text(f"users:\n    client-certificate-data: {base64.b64encode(pems[1].encode()).decode()}\n")
    found, done = run_exporter(tmp_path, one, bundle, config)
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
    found, done = run_exporter(tmp_path, tmp_path / "bad.crt", tmp_path / "good.crt", tmp_path / "*.none")
    assert done.returncode == 1
    assert "bad.crt: no certificate" in done.stderr
    assert len(found) == 2


def test_a_node_without_certificates_tells_of_none(tmp_path):
    found, done = run_exporter(tmp_path, "/nonexistent/*.crt")
    assert (found, done.returncode) == ({}, 0)


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
def test_whose_memory_was_short_is_reported(tmp_path, lines, wanted):
    (tmp_path / "kernel").write_text("\n".join(["usb 1-1: new device", *(KERNEL[i] for i in lines)]) + "\n")
    text = f'case "$*" in *--dmesg*) cat {tmp_path}/kernel;; *) exit 1;; esac'
    out = tmp_path / "oom.prom"
    sh("bash", TOOLS / "avadm-oom", out, env=stub(tmp_path / "bin/journalctl", text), check=True)
    found = samples(out)
    assert tuple(found[f'avadm_oom_kills{{within="{w}"}}'] for w in ("host", "limit", "pod")) == wanted
