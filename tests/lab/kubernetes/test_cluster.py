"""The control plane, its database and its nodes: they work, and refuse who may not."""

import base64
import json
import os
import re
import stat
import subprocess
import time
import uuid

import pytest
import yaml

from avadm.artifacts.manifest import named
from avadm.artifacts.store import ArtifactStore
from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.conftest import PORT
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
KEYS = "--cacert /etc/etcd/pki/ca.crt"


@pytest.mark.core("nodes")
def test_every_node_is_ready_with_the_wanted_version(kube):
    assert wait(lambda: kube.ready() == dict.fromkeys(kube.nodes(), True), 60), kube.ctl("describe nodes")
    versions = {
        n["metadata"]["name"]: n["status"]["nodeInfo"]["kubeletVersion"] for n in kube.get("nodes")["items"]
    }
    assert versions == dict.fromkeys(kube.nodes(), "v1.9.11")


@pytest.mark.core("masters")
def test_the_control_plane_is_healthy(kube):
    report = {
        c["metadata"]["name"]: c["conditions"][0]["status"] for c in kube.get("componentstatuses")["items"]
    }
    assert {name.partition("-")[0] for name in report} >= {"scheduler", "controller", "etcd"}
    assert set(report.values()) == {"True"}, report


def test_labels_say_what_a_node_is_for(kube, lab):
    found = {n["metadata"]["name"]: n["metadata"]["labels"] for n in kube.get("nodes")["items"]}
    for name in kube.nodes():
        assert found[name]["avadm.io/pool"] == ("gpu" if "gpu" in lab.node(name)["roles"] else "cpu")
        assert ("node-role.kubernetes.io/master" in found[name]) == (name in lab.names("master"))
        assert ("avadm.io/gpu-driver" in found[name]) == ("gpu" in lab.node(name)["roles"])
    for name in lab.names("gpu"):
        runs = lab.sh(name, "nvidia-smi --query-gpu=driver_version --format=csv,noheader").splitlines()[0]
        assert runs.startswith(found[name]["avadm.io/gpu-driver"])


def test_the_pause_image_stays_when_images_are_cleared_from_a_full_disk(lab):
    """As kubelet does it: by the image's id, without force, whether a pod runs on the node or not."""
    for node in lab.names("worker"):
        image = lab.sh(node, "docker image inspect --format '{{.Id}}' avadm/pause:1").strip()
        held = lab.sh(
            node, "docker container inspect --format '{{.Image}} {{.State.Status}}' avadm-pause"
        ).split()
        assert held == [image, "created"], node
        done = lab.run(node, f"docker rmi {image}")
        assert done.returncode != 0 and "conflict" in done.stderr, done
        lab.sh(node, "docker image inspect avadm/pause:1")


@pytest.mark.slow
def test_labels_are_put_right_by_an_apply_and_those_not_wanted_any_more_removed(kube, lab):
    worker = lab.names("worker")[0]
    rack = kube.get(f"node {worker}")["metadata"]["labels"]["avadm.io/rack"]
    kept = json.loads(kube.get(f"node {worker}")["metadata"]["annotations"]["avadm.io/kept"])
    # As an earlier site file would have left the node, with a label and a taint of somebody else.
    old = {"labels": [*kept["labels"], "avadm.io/earlier"], "taints": ["avadm.io/earlier:PreferNoSchedule"]}
    kube.ctl(f"annotate --overwrite node {worker} avadm.io/kept='{json.dumps(old)}'")
    kube.ctl(f"label node {worker} avadm.io/earlier=1 avadm-test/theirs=1 avadm.io/rack-")
    kube.ctl(f"taint node {worker} avadm.io/earlier=:PreferNoSchedule avadm-test/theirs=:PreferNoSchedule")
    try:
        done = avadm("apply", "nodes", "--limit", worker, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        node = kube.get(f"node {worker}")
        labels = node["metadata"]["labels"]
        assert (labels["avadm.io/rack"], labels["avadm-test/theirs"]) == (rack, "1")
        assert "avadm.io/earlier" not in labels
        assert {t["key"] for t in node["spec"].get("taints", [])} == {"avadm-test/theirs"}
    finally:
        kube.ctl(f"label node {worker} avadm-test/theirs-")
        kube.ctl(f"taint node {worker} avadm-test/theirs:PreferNoSchedule-")


def test_pods_reach_each_other_across_all_nodes(kube, lab, pods):
    for source, pod in pods.items():
        for target, other in pods.items():
            url = f"http://{other['status']['podIP']}:{PORT}/name"
            command = kube.inside(pod, f"curl -sf -m 5 {url}")
            answer = wait(lambda n=source, c=command: lab.run(n, c).stdout.strip(), 20)
            assert answer == target, f"from the pod on {source} to that on {target}"


def test_felix_set_what_each_pod_s_interface_needs_and_has_nothing_to_try_again(kube, lab, pods):
    for node, pod in pods.items():
        address = pod["status"]["podIP"]
        device = re.search(r"dev (cali\S+)", lab.sh(node, f"ip route get {address}")).group(1)
        for name in ("proxy_arp", "forwarding"):
            value = lab.sh(node, f"cat /proc/sys/net/ipv4/conf/{device}/{name}").strip()
            assert value == "1", (node, device, name, value)
        assert "PERMANENT" in lab.sh(node, f"ip neigh show dev {device} {address}"), (node, device)
    time.sleep(5)
    for node in pods:
        report = lab.sh(node, "journalctl --unit calico-node --since=-4s --output cat")
        # A pod that another test removes just now is worth a line or two; the loop wrote ten a second.
        again = [
            line for line in report.splitlines() if re.search("will retry|update operation failed", line)
        ]
        assert len(again) < 8, (node, again)


def test_a_service_answers_in_pods_and_on_nodes(kube, lab, pods):
    name = next(iter(pods.values()))["metadata"]["namespace"]
    address = kube.get(f"service echo -n {name}")["spec"]["clusterIP"]
    for node, pod in pods.items():
        seen = {lab.run(node, f"curl -s -m 5 http://{address}/name").stdout.strip() for _ in range(12)}
        assert seen & set(pods), f"{node} itself"
        inside = kube.inside(pod, f"curl -s -m 5 http://{address}/name")
        assert lab.run(node, inside).stdout.strip() in pods, f"the pod on {node}"


@pytest.mark.core("etcd")
def test_etcd_refuses_who_shows_no_certificate_of_its_own_authority(lab, kube):
    node = lab.names("etcd")[0]
    url = f"https://{lab.node(node)['address']}:2379/health"
    good = "--cert /etc/etcd/pki/client.crt --key /etc/etcd/pki/etcd.key"
    assert '"true"' in lab.sh(node, f"curl -sS -m 5 {KEYS} {good} {url}")
    assert lab.run(node, f"curl -sS -m 5 {KEYS} {url}").returncode != 0
    foreign = "--cert /etc/kubernetes/pki/kubelet.crt --key /etc/kubernetes/pki/node.key"
    assert lab.run(kube.master, f"curl -sS -m 5 -k {foreign} {url}").returncode != 0


def test_calico_sees_its_own_keys_in_etcd_alone(lab):
    node = lab.names("etcd")[0]
    client = "--cacert=/etc/calico/pki/etcd-ca.crt --cert=/etc/calico/pki/etcd.crt --key=/etc/calico/pki/calico.key"
    get = f"ETCDCTL_API=3 etcdctl --endpoints=https://{lab.node(node)['address']}:2379 {client} get --prefix --keys-only"
    assert "/calico/" in lab.sh(node, f"{get} /calico/")
    refused = lab.run(node, f"{get} /registry/")
    assert (refused.returncode != 0, refused.stdout) == (True, "")
    assert "permission denied" in refused.stderr


@pytest.mark.parametrize("path", ["/api", "/version", "/healthz"])
def test_the_api_answers_no_one_without_a_name(kube, lab, path):
    address = lab.node(kube.master)["address"]
    code = "curl -sk -m 5 -o /dev/null -w '%{http_code}'"
    assert lab.sh(kube.master, f"{code} https://{address}:6443{path}") == "401"


@pytest.mark.core("masters")
def test_no_port_is_open_to_all(kube, lab):
    for port in (8080, 10251, 10252):
        address = lab.node(kube.master)["address"]
        assert lab.run(kube.master, f"curl -s -m 3 http://{address}:{port}/healthz").returncode == 7, port
    for node in kube.nodes():
        address = lab.node(node)["address"]
        assert lab.run(node, f"curl -s -m 3 http://{address}:10255/pods").returncode == 7, (
            f"{node}: read-only port"
        )
        reply = lab.sh(node, f"curl -sk -m 5 -o /dev/null -w '%{{http_code}}' https://{address}:10250/pods")
        assert reply == "401", f"{node}: kubelet"


@pytest.mark.core("secrets")
def test_a_secret_is_encrypted_in_etcd_and_not_reported_by_the_audit_log(kube, lab):
    name = f"avadm-{uuid.uuid4().hex[:8]}"
    word = f"correct-horse-{name}"
    coded = base64.b64encode(word.encode()).decode()
    kube.ctl(f"create secret generic {name} --from-literal=word={word}")
    try:
        raw = lab.sh(
            lab.names("etcd")[0],
            f"avadm-etcd ctl get /registry/secrets/default/{name} | tr -dc '[:print:]'",
        )
        assert "k8s:enc:aescbc:v1:key1:" in raw
        assert "correct-horse" not in raw
        # What the API gives back is what was written.
        assert kube.get(f"secret {name}")["data"]["word"] == coded
    finally:
        kube.ctl(f"delete secret {name}")
    log = "/var/log/kubernetes/audit*.log"

    def audit_entries():
        lines = lab.run(kube.master, f"grep -hF {name} {log}").stdout.splitlines()
        found = [json.loads(line) for line in lines]
        return {e["verb"]: e for e in found if e.get("objectRef", {}).get("resource") == "secrets"}

    assert wait(lambda: set(audit_entries()) >= {"create", "get", "delete"}, 20), set(audit_entries())
    for entry in audit_entries().values():
        assert entry["user"]["username"] == "kubernetes-admin"
        assert "requestObject" not in entry and "responseObject" not in entry
    assert lab.run(kube.master, f"grep -lF -e {word} -e {coded} {log}").stdout == ""


def mib(quantity):
    """Return an amount of memory as Kubernetes writes it, in MiB."""
    units = {"Ki": 2**-10, "Mi": 1, "Gi": 2**10}
    return float(quantity[:-2]) * units[quantity[-2:]] if quantity[-2:] in units else float(quantity) / 2**20


def millicores(quantity):
    """Return processors as Kubernetes writes them, in thousandths."""
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)


def test_pods_may_use_what_the_site_file_leaves_them(kube, lab):
    """Allocatable is what there is less both reservations and, of memory, what eviction keeps free."""
    knobs = yaml.safe_load(lab.site_path.read_text())["components"]["kubernetes"]
    kept = [knobs["system_reserved"], knobs["kube_reserved"]]
    cpu = sum(k["cpu_millicores"] for k in kept)
    memory = sum(k["memory_mib"] for k in kept) + knobs["eviction"]["memory_mib"]
    assert cpu and memory
    for node in kube.get("nodes")["items"]:
        name, has, gives = node["metadata"]["name"], node["status"]["capacity"], node["status"]["allocatable"]
        assert millicores(has["cpu"]) - millicores(gives["cpu"]) == cpu, name
        assert mib(has["memory"]) - mib(gives["memory"]) == memory, name


@pytest.mark.core("nodes")
def test_a_kubelet_may_change_its_own_node_alone(kube, lab):
    worker = lab.names("worker")[0]
    ctl = "kubectl --kubeconfig=/etc/kubernetes/kubelet.kubeconfig"
    assert lab.run(worker, f"{ctl} get node {worker}").returncode == 0
    refused = lab.run(worker, f"{ctl} label node {kube.master} avadm.io/stolen=yes")
    assert refused.returncode != 0
    assert "orbidden" in refused.stderr or "cannot" in refused.stderr
    assert lab.run(worker, f"{ctl} get secrets -n kube-system").returncode != 0


def test_the_controller_has_a_kubeconfig_of_its_own_through_the_virtual_address(lab, kube):
    path = lab.site_path.with_suffix(".kubeconfig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert lab.node(kube.master)["address"] not in path.read_text(), "the address is the virtual one"
    program = ArtifactStore.default().folder(named(("kubernetes",))[0]) / "hyperkube"
    command = [program, "kubectl", f"--kubeconfig={path}", "--request-timeout=10s", "get", "--raw=/healthz"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "HOME": "/nonexistent"}
    )
    assert (done.stdout, done.returncode) == ("ok", 0), done.stderr


@pytest.mark.slow
def test_a_killed_api_server_comes_back_and_nodes_stay_ready(kube, lab, tried):
    """With HTTP/2 kubelets of this build kept a dead connection for ever: nodes were lost after 40 s."""
    tried("api server", "kill -9", "nodes ready two minutes later")
    for master in lab.names("master"):
        lab.sh(master, "systemctl kill -s KILL kube-apiserver")
    assert wait(lambda: lab.run(kube.master, "kubectl get --raw=/healthz").stdout == "ok", 60)
    seen = [kube.ready() for _ in range(12) if not wait(lambda: False, 10, 10)]
    assert seen[-1] == dict.fromkeys(kube.nodes(), True)
    for node in kube.nodes():
        log = lab.run(node, "journalctl -u kubelet -u kube-proxy --since '-3min' -o cat").stdout
        assert "no cached connection" not in log, node
