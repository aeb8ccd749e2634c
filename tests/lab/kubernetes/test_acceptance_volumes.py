"""Acceptance of volumes, quotas and evictions on the lab: it passes and verifies, leaves nothing, and sees a fault."""

import subprocess

import pytest

from avadm import paths
from tests.lab.acceptance.drive import AVADM, accept
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]
DEFAULT = "kubectl annotate --overwrite storageclass rbd storageclass.kubernetes.io/is-default-class="


@pytest.fixture(autouse=True)
def _with_ceph(lab):
    if not lab.names("mds"):
        pytest.skip("this lab has no ceph")


def test_volumes_quotas_and_evictions_pass_and_leave_nothing(kube):
    before = {v["metadata"]["name"] for v in kube.get("persistentvolumes")["items"]}
    there = [c["metadata"]["name"] for c in kube.get("storageclasses")["items"]]
    wanted = [
        c
        for c, kind in (("K-VOL", "cephfs"), ("K-VOL-RBD", "rbd"), ("K-VOL-LOCAL", "local"))
        if kind in there
    ]
    wanted += ["K-QUOTA", "K-EVICT"]
    status, checks = accept(*wanted, suite="kubernetes")
    assert {i: c["reasons"] for i, c in checks.items() if c["verdict"] != "PASS"} == {}
    assert (status, list(checks)) == (0, ["K-PRE", *wanted])
    folder = max(paths.runs().glob("*-accept")) / "report"
    assert subprocess.run([AVADM, "accept", "verify", folder], check=False).returncode == 0
    after = {v["metadata"]["name"] for v in kube.get("persistentvolumes")["items"]}
    assert after <= before
    assert "avadm-accept" not in kube.ctl("get namespaces -o name")
    # Shown: with Kubernetes 1.9 a quota does not hold back GPUs.
    (gpu,) = (m for m in checks["K-QUOTA"]["metrics"] if m["name"] == "gpu-admitted")
    assert (gpu["mean"], gpu["verdict"]) == (1.0, None)


def test_a_second_default_class_is_seen(kube, lab, tried):
    if "rbd" not in kube.ctl("get storageclasses -o name"):
        pytest.skip("this lab has no block volumes")
    row = tried("negative control", "a second storage class is the default", "K-VOL FAIL, with the reason")
    with planted(lab, "master:0", "second-default", f"{DEFAULT}true", f"{DEFAULT}false"):
        status, checks = accept("K-VOL", suite="kubernetes")
    row.came = f"{checks['K-VOL']['verdict']} ({checks['K-VOL']['reasons']})"
    assert (status, checks["K-VOL"]["verdict"]) == (1, "FAIL")
    # With two the API server takes no claim that names no class.
    assert "2 default StorageClasses" in " ".join(checks["K-VOL"]["reasons"])
