"""`avadm disk` on the running lab, whose disks are all OSDs: it sees them, and touches none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lab
AVADM = Path(sys.executable).parent / "avadm"


def avadm(*words):
    return subprocess.run(
        [AVADM, "disk", *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.core("disks")
def test_every_approved_disk_is_reported_as_the_osd_that_it_is(lab):
    done = avadm("list", "--limit", "osd", "--json")
    assert done.returncode == 0, done.stderr
    disks = [d for d in json.loads(done.stdout)["disks"] if d["approved"]]
    shown = subprocess.run(
        [AVADM, "site", "show", "--json"], capture_output=True, text=True, check=True
    ).stdout
    assert len(disks) == sum(len(n["devices"]) for n in json.loads(shown)["site"]["nodes"])
    assert {d["verdict"] for d in disks} == {f"osd.{n}" for n in range(len(disks))}


@pytest.mark.core("disks")
def test_a_running_osd_is_not_erased(lab):
    node = lab.names("osd")[0]
    disks = json.loads(avadm("list", "--limit", node, "--json").stdout)["disks"]
    disk = next(d for d in disks if d["verdict"].startswith("osd."))
    done = avadm("zap", node, disk["real"], "--yes-i-lose", disk["links"][0])
    assert done.returncode == 2
    assert "is held open by ceph-osd" in done.stderr
    assert "of this cluster" in done.stderr
    assert avadm("approve", node, disk["real"]).stdout.endswith("0 approved, 1 were already.\n")
