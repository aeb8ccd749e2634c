"""Volumes on nodes' own disks: where the pod can run, never more than the node keeps for them, gone with their claim."""

import pytest

from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LOCAL = {"kind": "local", "modes": ["ReadWriteOnce"]}
FOLDER = "/var/lib/avadm/local"


@pytest.fixture(autouse=True)
def _with_local_volumes(volumes):
    classes = [c["metadata"]["name"] for c in volumes.kube.get("storageclass")["items"]]
    if "local" not in classes:
        pytest.skip("no node of this lab has local volumes")


def test_a_local_volume_is_made_where_the_pod_runs_with_its_own_limit_and_goes_with_its_claim(volumes):
    volumes.ask("near", "128Mi", **LOCAL)
    assert not wait(lambda: volumes.get("pvc near")["status"]["phase"] == "Bound", 6), "made before any pod"
    volumes.pod("user", None, "near")
    name = volumes.bound("near")
    volumes.up("user")
    node = volumes.get("pod user")["spec"]["nodeName"]
    volume = volumes.kube.get(f"pv {name}")
    assert volume["spec"]["flexVolume"]["options"]["node"] == node
    size, blocks = volumes.lab.sh(node, f"stat -c '%s %b' {FOLDER}/{name}.img").split()
    assert int(size) == 128 << 20
    assert int(blocks) * 512 >= int(size), "its space is only promised"
    done = volumes.inside("user", "dd if=/dev/zero of=/data/big bs=1M count=200")
    assert "No space left" in done.stderr, done.stderr
    volumes.drop("user")
    volumes.kube.ctl(f"delete pvc near -n {volumes.space}")
    gone = wait(lambda: not volumes.lab.host(node).file(f"{FOLDER}/{name}.img").exists, 60)
    assert gone, "its file is still there"


def test_no_node_keeps_more_than_the_site_file_says(volumes):
    volumes.ask("huge", "1Ti", **LOCAL)
    volumes.pod("greedy", None, "huge")
    assert volumes.event("huge", "left of"), volumes.kube.ctl(f"describe pvc huge -n {volumes.space}")
    assert volumes.get("pvc huge")["status"]["phase"] == "Pending"
    volumes.drop("greedy")
