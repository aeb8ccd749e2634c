"""Acceptance on the running lab: it measures, cannot be edited unseen, and planted faults turn it red."""

import json
import shutil
import subprocess

import pytest

from avadm import paths
from avadm_validation.suites.storage.checks import CHECKS
from tests.controls.acceptance import FAULTS
from tests.lab.acceptance.drive import AVADM, accept, wait_healthy
from tests.lab.faults.planting import planted

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
    return max(paths.runs().glob("*-accept")) / "report"


@pytest.mark.core("acceptance")
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


def test_a_stopped_osd_blocks_every_check(lab, tried):
    row = tried("negative control", "an OSD is stopped", "every check of storage BLOCKED")
    [fault] = [f for f in FAULTS if f.name == "osd-stopped"]
    [act] = fault.acts
    wait_healthy(lab)
    with planted(lab, act.nodes, fault.name, act.do, act.undo):
        status, checks = accept(suite="storage")
    wait_healthy(lab)
    row.came = f"{sum(c['verdict'] == 'BLOCKED' for c in checks.values())} of {len(checks)} BLOCKED"
    assert status == 1
    assert {c: r["verdict"] for c, r in checks.items()} == dict.fromkeys(
        ("preconditions", *(c.ID for c in CHECKS)), "BLOCKED"
    )


def test_flags_are_given_back_and_nothing_is_left_behind(lab, exclusive_report):
    mon, client = lab.names("mon")[0], lab.names("client")[0]
    flags = lab.sh(mon, "ceph osd dump --format json")
    assert "scrub" not in json.loads(flags)["flags"]
    assert "avadm-accept" not in lab.sh(client, "ls /mnt/cephfs /tmp")
    assert "avadm-accept" not in lab.sh(mon, "rbd ls rbd")
