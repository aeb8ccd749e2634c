"""The doctor on the running lab: nothing to say of a healthy one, each planted trouble by its name, a bundle without secrets."""

import json
import shutil
import tarfile
import time
from contextlib import ExitStack

import pytest

from avadm.site.load import load
from avadm.site.vault import Vault
from tests.controls.doctor_faults import PLANTS
from tests.lab.faults.drive import avadm, healthy
from tests.lab.faults.planting import named, planted

pytestmark = pytest.mark.lab
MENDED_S = 240
"""Seconds after which nothing of a trouble that was taken away is seen any more."""

LOOKS = 3
"""How often the doctor is asked while it finds warnings alone."""


def doctor(*arguments):
    """Return the exit status and the results."""
    done = avadm("doctor", "--json", *arguments, timeout=300)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["checks"]


def troubles(rows):
    return [r for r in rows if r["status"] != "ok"]


def of_this_machine(row):
    """Return whether a result is true of the machine, whose disk all nodes share: that is no fault of the lab."""
    disk, alert = shutil.disk_usage("/"), row["evidence"].partition(": ")[0]
    return disk.free < 0.25 * disk.total and alert in (
        "HostDiskSpaceLow",
        "HostDiskPressure",
        "HostDiskWillFill",
    )


@pytest.mark.core("doctor")
@pytest.mark.first
def test_a_healthy_lab_has_no_trouble(lab):
    healthy(lab)
    # An answer that was slow while the machine was busy is not slow at each look; what is bad is believed at once.
    for _ in range(LOOKS):
        code, rows = doctor()
        left = [r for r in troubles(rows) if not of_this_machine(r)]
        if {r["status"] for r in left} != {"warn"}:
            break
    assert [r for r in troubles(rows) if not of_this_machine(r)] == []
    # The machine's own disk may be nearly full, which the doctor rightly finds bad.
    assert code == int(any(r["status"] == "bad" for r in rows))
    wanted = {"units", "disk-space", "prometheus-targets"}
    wanted |= {"ceph-health", "ceph-versions"} if lab.names("mon") else set()
    wanted |= (
        {"kube-nodes-ready", "calico-ready", "etcd-members", "cni-plugins"} if lab.names("master") else set()
    )
    wanted |= {"objects-gateway", "objects-address", "objects-usage"} if lab.names("rgw") else set()
    wanted |= {"cache-leader", "cache-workers", "cache-mount"} if lab.names("alluxio_master") else set()
    wanted |= {"logs-store", "logs-shipper"} if load(lab.site_path).site.components.logs else set()
    assert wanted <= {r["id"] for r in rows}


def _param(plant):
    return pytest.param(plant, id=plant.name, marks=[pytest.mark.slow] if plant.slow else [])


@pytest.mark.parametrize("plant", [_param(p) for p in PLANTS])
def test_planted_trouble_is_found(lab, tried, plant):
    roles = {act.nodes.partition(":")[0] for act in plant.acts}
    if any(not lab.names(role) for role in roles):
        pytest.skip(f"this lab has no node with the role {', '.join(sorted(roles))}")
    if plant.component and not getattr(load(lab.site_path).site.components, plant.component):
        pytest.skip(f"this lab has no components.{plant.component}")
    row = tried("doctor", f"{plant.requirement} {plant.text}".strip(), f"{plant.check} {plant.status}")
    where = plant.where.format(named(lab, plant.acts[0].nodes)[0])
    with ExitStack() as stack:
        for number, act in enumerate(plant.acts):
            stack.enter_context(planted(lab, act.nodes, f"doctor-{plant.name}-{number}", act.do, act.undo))
        hit, seen = _found(plant, where)
    assert hit, f"{plant.check} does not say {plant.status} of {where}: {seen}"
    assert hit["remedy"]
    row.came = f"{hit['id']} {hit['status']}: {hit['where']}: {hit['evidence'][:160]}"
    if not plant.lingers:
        _gone(plant, where)


def _found(plant, where):
    """Return the row that tells of a plant, or None, and what the check reported last."""
    end = time.monotonic() + plant.within
    while True:
        code, rows = doctor("--only", plant.check)
        hits = [r for r in rows if r["status"] == plant.status and where in r["where"]]
        if hits:
            assert plant.status != "bad" or code == 1
            return hits[0], rows
        if time.monotonic() > end:
            return None, rows
        time.sleep(2)


def _gone(plant, where):
    end = time.monotonic() + MENDED_S
    while hits := [r for r in troubles(doctor("--only", plant.check)[1]) if where in r["where"]]:
        assert time.monotonic() < end, hits
        time.sleep(3)


def test_a_bundle_holds_no_secret_and_can_be_judged_offline(lab, tmp_path):
    path = tmp_path / "bundle.tar.gz"
    done = avadm("support", "collect", "-o", str(path), "--since", "-10min", timeout=600)
    assert done.returncode == 0, done.stderr
    vault = Vault.open(lab.site_path)
    secrets = [v.encode() for v in vault.values()] + [vault.password_file.read_bytes().strip()]
    # A multi-line key is looked for by each of its lines.
    lines = {line for v in secrets for line in v.splitlines() if len(line) >= 12 and b"-----" not in line}
    for name in (n["name"] for n in lab.nodes):
        keyring = lab.run(name, "cat /etc/ceph/*.keyring 2>/dev/null | sed -n 's/.*key = //p'").stdout
        lines |= {line.encode() for line in keyring.split()}
    assert lines
    with tarfile.open(path) as tar:
        leaks = [m.name for m in tar if any(line in tar.extractfile(m).read() for line in lines)]
    assert leaks == []
    done = avadm("doctor", str(path), "--json")
    assert {r["id"] for r in json.loads(done.stdout)["checks"]} >= {"units", "disk-space"}
