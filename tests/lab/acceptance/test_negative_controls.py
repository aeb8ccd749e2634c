"""Each check can fail: a fault is planted on the nodes, from outside (acceptance.md 2.3.9, tests/controls)."""

import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from avadm.site.load import load
from tests.controls.acceptance import FAULTS
from tests.lab.acceptance.drive import AVADM, accept, wait_healthy
from tests.lab.faults.planting import named, planted

pytestmark = [pytest.mark.lab]
BLOCKED_BY = {"preconditions": "A-BD6", "A-S3-PRE": "A-S3-2", "A-SC-PRE": "A-OT1"}
"""Preconditions are measured before any check: which stands for those that they block."""


def failed(check):
    """Return the names of a check's metrics that failed."""
    return {m["name"] for m in check["metrics"] if m["verdict"] == "FAIL"}


@pytest.fixture(autouse=True)
def healthy(lab):
    """Start from a healthy cluster, and leave one behind."""
    wait_healthy(lab)
    yield
    wait_healthy(lab)


@contextmanager
def meanwhile(lab, node, script):
    """Run a script on a node beside the check; it must have done its work by the end."""
    done = []
    # A daemon: where the check breaks, no one waits for the script.
    thread = threading.Thread(target=lambda: done.append(lab.run(node, script, timeout=300)), daemon=True)
    thread.start()
    yield
    thread.join()
    assert done and done[0].returncode == 0, f"the fault was not planted: {done}"


def case(fault):
    return pytest.param(fault, id=fault.name, marks=() if fault.quick else pytest.mark.slow)


@pytest.mark.parametrize("fault", [case(f) for f in FAULTS])
def test_a_planted_fault_is_seen(lab, tried, fault):
    kubernetes = all(c.startswith("K-") for c in fault.reds)
    if kubernetes and not lab.names("master"):
        pytest.skip("this lab has no Kubernetes")
    objects = all(c.startswith("A-S3") for c in fault.reds)
    if objects and not lab.names("rgw"):
        pytest.skip("this lab has no object store: lab up --with objects")
    platform = all(c.startswith(("A-SC", "A-OT")) for c in fault.reds)
    if platform and load(lab.site_path).site.components.ava is None:
        pytest.skip("this lab has no platform")
    wanted = ", ".join(f"{c} {fault.verdict}" for c in fault.reds)
    row = tried("negative control", fault.text, wanted)
    chosen = [BLOCKED_BY.get(c, c) for c in fault.reds]
    with ExitStack() as stack:
        for act in fault.acts:
            if fault.beside:
                if act.undo:
                    stack.enter_context(planted(lab, act.nodes, fault.name, "true", act.undo))
                stack.enter_context(meanwhile(lab, named(lab, act.nodes)[0], act.do))
            else:
                stack.enter_context(planted(lab, act.nodes, fault.name, act.do, act.undo))
        suite = "kubernetes" if kubernetes else "objects" if objects else "platform" if platform else "all"
        status, checks = accept(*chosen, suite=suite)
    row.came = ", ".join(
        f"{c} {checks[c]['verdict']}"
        + (f" ({', '.join(sorted(failed(checks[c])))})" if failed(checks[c]) else "")
        for c in fault.reds
    )
    assert status == 1
    for check, metrics in fault.reds.items():
        assert checks[check]["verdict"] == fault.verdict, checks[check]["reasons"]
        assert failed(checks[check]) >= set(metrics), checks[check]["reasons"]


@pytest.mark.slow
def test_a_killed_run_leaves_its_flags_to_the_next(lab, tried):
    row = tried(
        "negative control", "acceptance is killed while scrubs are held off", "the next run lets them go"
    )
    mon = lab.names("mon")[0]
    running = subprocess.Popen(
        [AVADM, "accept", "run", "--effort", "quick", "--only", "A-FS1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while "noscrub" not in lab.sh(mon, "ceph osd dump | grep ^flags") and time.monotonic() < until:
        time.sleep(0.2)
    running.kill()
    running.wait()
    assert "noscrub" in lab.sh(mon, "ceph osd dump | grep ^flags")
    _, checks = accept("A-BD6")
    assert checks["A-BD6"]["verdict"] == "PASS"
    assert "scrub" not in lab.sh(mon, "ceph osd dump | grep ^flags")
    assert "avadm-accept" not in lab.sh(lab.names("client")[0], "ls /mnt/cephfs")
    row.came = row.wanted
