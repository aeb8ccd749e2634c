"""Acceptance on the running lab: it measures, cannot be edited unseen, and planted faults turn it red."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.lab.acceptance.drive import AVADM, accept, wait_healthy

pytestmark = pytest.mark.lab


def verify(folder):
    """Return the exit status of `avadm accept verify` on a report's folder."""
    done = subprocess.run([AVADM, "accept", "verify", folder], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode


@pytest.fixture(scope="module")
def exclusive_report(lab):
    """The folder of a finished report of one quick check."""
    wait_healthy(lab)
    status, checks = accept("A-BD6")
    assert (status, checks["A-BD6"]["verdict"]) == (0, "PASS"), checks["A-BD6"]["reasons"]
    return max(Path("runs").glob("*-accept")) / "report"


def test_a_second_writer_is_refused_and_the_report_verifies(exclusive_report):
    assert {p.name for p in exclusive_report.iterdir()} >= {
        "report.json",
        "report.html",
        "report.md",
        "junit.xml",
    }
    assert verify(exclusive_report) == 0


def test_an_edited_value_is_noticed(exclusive_report, tmp_path):
    copy = shutil.copytree(exclusive_report, tmp_path / "report")
    report = json.loads((copy / "report.json").read_text())
    [check] = [c for c in report["checks"] if c["id"] == "A-BD6"]
    check["metrics"][0]["samples"][0]["value"] += 1
    (copy / "report.json").write_text(json.dumps(report))
    assert verify(copy) == 1


def test_an_edited_raw_file_is_noticed(exclusive_report, tmp_path):
    copy = shutil.copytree(exclusive_report, tmp_path / "report")
    raw = next(p for p in sorted((copy / "raw" / "A-BD6").iterdir()) if p.stat().st_size)
    raw.write_bytes(raw.read_bytes() + b" ")
    assert verify(copy) == 1


def test_a_stopped_osd_blocks_every_check(lab):
    node = lab.names("osd")[0]
    osd = lab.sh(node, "ls /var/lib/ceph/osd").split()[0].removeprefix("ceph-")
    lab.sh(node, f"systemctl stop ceph-osd@{osd}")
    try:
        time.sleep(3)
        status, checks = accept("A-BD6")
        assert status == 1
        assert checks["A-BD6"]["verdict"] == "BLOCKED"
    finally:
        lab.sh(node, f"systemctl start ceph-osd@{osd}")
        wait_healthy(lab)


@pytest.mark.slow
def test_a_slow_network_fails_small_files(lab):
    clients = lab.names("client")
    for client in clients:
        lab.sh(client, "tc qdisc add dev eth0 root tbf rate 3mbit burst 32kb latency 400ms")
    try:
        status, checks = accept("A-FS1")
        assert status == 1
        assert checks["A-FS1"]["verdict"] == "FAIL", checks["A-FS1"]["reasons"]
    finally:
        for client in clients:
            lab.sh(client, "tc qdisc del dev eth0 root")


def test_flags_are_given_back_and_nothing_is_left_behind(lab, exclusive_report):
    mon, client = lab.names("mon")[0], lab.names("client")[0]
    flags = lab.sh(mon, "ceph osd dump --format json")
    assert "scrub" not in json.loads(flags)["flags"]
    assert "avadm-accept" not in lab.sh(client, "ls /mnt/cephfs /tmp")
    assert "avadm-accept" not in lab.sh(mon, "rbd ls rbd")
