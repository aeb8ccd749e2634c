"""What the root of one worker can do to the volumes of others with what lies on its node: nothing."""

import json
import shlex

import pytest

from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
VOLUMES = "/api/v1/persistentvolumes"
ASK = """import glob, json, os, sys
sys.path.insert(0, max(glob.glob("/usr/lib/avadm/volumes-*.pyz"), key=os.path.getmtime))
from avadm_node.kubeapi import Api, ApiError
config, method, path, body = sys.argv[1:]
try:
    Api(json.load(open(config))).call(method, path, json.loads(body))
    print(200)
except ApiError as error:
    print(error.status, error)
"""


@pytest.fixture
def ask(lab):
    """Ask the API as the program of volumes of a node; return the status and, of a refusal, why."""

    def run(node, method, path, body=None, config="local"):
        words = ["python3", "-c", ASK, f"/etc/avadm/volumes/{config}.json", method, path, json.dumps(body)]
        status, _, why = lab.sh(node, " ".join(shlex.quote(w) for w in words)).strip().partition(" ")
        return int(status), why

    return run


def noted(node):
    return {"metadata": {"annotations": {"avadm.io/local-node": node}}}


def test_a_node_makes_and_removes_its_own_volumes_and_no_other_users(volumes, lab, ask):
    own = [n for n in volumes.nodes if lab.host(n).file("/etc/avadm/volumes/local.json").exists]
    if len(own) < 2:
        pytest.skip("this lab has local volumes on fewer than two nodes")
    one, other = own[:2]
    volumes.ask("guarded", "16Mi", kind="local", modes=["ReadWriteOnce"])
    wanted = "volume.beta.kubernetes.io/storage-provisioner"
    assert wait(lambda: wanted in volumes.get("pvc guarded")["metadata"].get("annotations", {}), 30)
    claim = f"/api/v1/namespaces/{volumes.space}/persistentvolumeclaims/guarded"
    for body in (
        noted(other),
        {"metadata": {**noted(one)["metadata"], "labels": {"a": "b"}}},
        {"metadata": {"labels": {"a": "b"}}},
    ):
        status, why = ask(one, "PATCH", claim, body)
        assert (status, "may note its node" in why) == (403, True), why
    assert ask(one, "PATCH", claim, noted(one)) == (200, "")
    # Its program makes the volume now, with the same certificate.
    name = volumes.bound("guarded")
    assert volumes.kube.get(f"pv {name}")["spec"]["flexVolume"]["options"]["node"] == one
    assert ask(other, "PATCH", claim, noted(other))[0] == 403
    foreign = volumes.kube.get(f"pv {name}")
    foreign["metadata"] = {key: foreign["metadata"][key] for key in ("name", "annotations")}
    for node, method, path, body in (
        (other, "DELETE", f"{VOLUMES}/{name}", None),
        (other, "PATCH", f"{VOLUMES}/{name}", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}),
        (other, "POST", VOLUMES, foreign),
        (other, "DELETE", VOLUMES, None),
        (one, "DELETE", VOLUMES, None),
    ):
        status, why = ask(node, method, path, body)
        assert status == 403, (node, method, path, why)
    assert volumes.get("pvc guarded")["status"]["phase"] == "Bound"
    volumes.kube.ctl(f"delete pvc guarded -n {volumes.space}")
    gone = wait(lambda: not lab.host(one).file(f"/var/lib/avadm/local/{name}.img").exists, 60)
    assert gone, "its file is still there"
    left = "kubectl get pv -o name"
    assert wait(lambda: name not in lab.sh(volumes.kube.master, left), 60), "the volume is still there"


def test_a_provisioner_removes_no_volume_of_a_node_and_gives_out_no_path_of_a_host(volumes, lab, ask):
    makers = [n for n in volumes.nodes if lab.host(n).file("/etc/avadm/volumes/provisioner.json").exists]
    name = volumes.claim("shared", "16Mi", kind="cephfs")
    volume = volumes.kube.get(f"pv {name}")
    local = [n for n in volumes.nodes if lab.host(n).file("/etc/avadm/volumes/local.json").exists]
    for node in local:
        status, why = ask(node, "DELETE", f"{VOLUMES}/{name}")
        assert (status, "to remove" in why) == (403, True), why
    volume["metadata"] = {key: volume["metadata"][key] for key in ("name", "annotations")}
    volume["spec"]["hostPath"] = {"path": "/etc", "type": "Directory"}
    status, why = ask(makers[0], "POST", VOLUMES, volume, "provisioner")
    assert (status, "is no volume that" in why) == (403, True), why
    volumes.kube.ctl(f"delete pvc shared -n {volumes.space}")
    assert wait(lambda: name not in lab.sh(volumes.kube.master, "kubectl get pv -o name"), 60)
