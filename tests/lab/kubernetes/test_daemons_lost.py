"""Daemons of nodes that die: pods continue meanwhile, and everything is back by itself."""

import time
import uuid

import pytest

from tests.lab.faults.drive import avadm
from tests.lab.kubernetes.conftest import IMAGE, PORT
from tests.lab.kubernetes.drive import healthy, services, unchanged
from tests.lab.kubernetes.probe import Traffic
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.usefixtures("whole")]

KILLED = {
    "kubelet": "systemctl kill -s KILL kubelet",
    "dockerd": "kill -9 $(pidof dockerd)",
    "calico-node": "docker kill calico-node",
    "bird": "kill -9 $(pidof bird)",
    "kube-proxy": "systemctl kill -s KILL kube-proxy",
}


def containers(lab, node):
    """Return the containers of a node's pods, and since when they run."""
    reply = lab.sh(node, "docker ps -q --no-trunc --filter label=io.kubernetes.pod.name --format '{{.ID}}'")
    return set(reply.split())


@pytest.mark.parametrize("daemon", KILLED)
def test_a_daemon_of_a_worker_that_is_killed(lab, kube, pods, tried, daemon):
    node = lab.names("worker")[-1]
    other = next(n for n in lab.names("worker") if n != node)
    row = tried(
        f"{daemon} lost",
        f"{daemon} on {node} is killed",
        "its pods live on and answer, the node stays ready, all back by itself",
    )
    before = containers(lab, node)
    assert before
    url = f"http://{pods[node]['status']['podIP']}:{PORT}/name"
    with Traffic(kube, pods[other], url) as traffic:
        time.sleep(2)
        begun = time.monotonic()
        lab.sh(node, KILLED[daemon])
        time.sleep(3)
        healthy(kube)
        back = time.monotonic() - begun
        # Longer than a node may be silent until it is not ready.
        time.sleep(max(50 - back, 5))
        assert kube.ready()[node]
    assert before <= containers(lab, node), "containers were started again"
    assert traffic.sent > 50
    assert traffic.failed <= traffic.sent * 0.02, f"{traffic.failed} of {traffic.sent} requests failed"
    row.came = (
        f"all well again after {back:.0f} s; {len(before)} containers lived on; {traffic.failed} of {traffic.sent}"
        f" requests from {other} failed"
    )


def test_a_kubelet_that_stays_away_is_reported_and_comes_back(lab, kube, pods, tried):
    node = lab.names("worker")[-1]
    other = next(n for n in lab.names("worker") if n != node)
    row = tried(
        "kubelet lost",
        f"kubelet on {node} is stopped for 70 s",
        "node not ready, its pods answer, ready again",
    )
    with Traffic(kube, pods[other], f"http://{pods[node]['status']['podIP']}:{PORT}/name") as traffic:
        begun = time.monotonic()
        lab.sh(node, "systemctl stop kubelet")
        try:
            assert wait(lambda: not kube.ready()[node], 70), "a silent node is still called ready"
            noticed = time.monotonic() - begun
        finally:
            lab.sh(node, "systemctl start kubelet")
        begun = time.monotonic()
        assert wait(lambda: kube.ready()[node], 60)
        back = time.monotonic() - begun
    assert traffic.failed <= traffic.sent * 0.02, f"{traffic.failed} of {traffic.sent} requests failed"
    row.came = (
        f"not ready after {noticed:.0f} s, ready {back:.0f} s after its start; {traffic.failed} of {traffic.sent}"
        " requests to its pod failed"
    )


def test_the_dns_node_s_daemon_dies(lab, kube, tried):
    nodes = lab.names("dns")
    row = tried(
        "DNS lost",
        f"CoreDNS on {', '.join(nodes)} is killed, then stopped for 10 s",
        "nodes know each other meanwhile; the cluster's names are back by themselves",
    )
    address = lab.node(nodes[0])["address"]
    ask = f"python3 - <<'END'\n{ASK.format(address=address)}\nEND"
    assert lab.run(kube.master, ask).returncode == 0, "the cluster's DNS does not answer before the test"
    begun = time.monotonic()
    for node in nodes:
        lab.sh(node, "systemctl kill -s KILL coredns")
    assert wait(lambda: lab.run(kube.master, ask).returncode == 0, 60, step=0.5)
    killed = time.monotonic() - begun
    try:
        for node in nodes:
            lab.sh(node, "systemctl stop coredns")
        assert lab.run(kube.master, ask).returncode != 0
        for node in kube.nodes():
            assert lab.node(nodes[0])["address"] in lab.sh(node, f"getent hosts {nodes[0]}")
    finally:
        for node in nodes:
            lab.sh(node, "systemctl start coredns")
    assert wait(lambda: lab.run(kube.master, ask).returncode == 0, 60, step=0.5)
    row.came = (
        f"names of services again {killed:.1f} s after the kill; each node knew the others' names meanwhile"
    )


# A question for kubernetes.default.svc.cluster.local, type A, as RFC 1035 has it; the service's address must be in the answer.
ASK = """import socket, sys
name = b"".join(bytes([len(p)]) + p.encode() for p in "kubernetes.default.svc.cluster.local".split("."))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.sendto(b"\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00" + name + b"\\x00\\x00\\x01\\x00\\x01", ("{address}", 53))
answer = s.recv(512)
sys.exit(0 if answer[3] & 15 == 0 and answer[7] == 1 else 1)"""


def test_the_registry_dies(lab, kube, registry, tried):
    node = lab.names("registry")[0]
    row = tried(
        "registry lost",
        f"the registry on {node} is stopped, then killed",
        "pods with images that are there start meanwhile; images can be fetched again afterwards",
    )
    worker = lab.names("worker")[-1]
    fetch = f"docker rmi -f {registry}/avadm/base:12 >/dev/null 2>&1; docker pull -q {registry}/avadm/base:12"
    assert lab.run(worker, fetch).returncode == 0, "no image can be fetched before the test"
    space = f"registry-{uuid.uuid4().hex[:8]}"
    kube.ctl(f"create namespace {space}")
    lab.sh(node, "systemctl stop avadm-registry")
    try:
        assert lab.run(worker, fetch).returncode != 0, (
            "an image was fetched from a registry that is not there"
        )
        kube.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "meanwhile", "namespace": space},
                "spec": {"containers": [{"name": "pause", "image": IMAGE, "imagePullPolicy": "Never"}]},
            }
        )
        phase = f"get pod meanwhile -n {space} -o jsonpath='{{.status.phase}}'"
        assert wait(lambda: kube.ctl(phase) == "Running", 60), kube.ctl(f"describe pods -n {space}")
    finally:
        lab.sh(node, "systemctl start avadm-registry")
        kube.ctl(f"delete namespace {space}")
    assert wait(lambda: lab.run(worker, fetch).returncode == 0, 60)
    begun = time.monotonic()
    lab.sh(node, "systemctl kill -s KILL avadm-registry")
    assert wait(lambda: lab.run(worker, fetch).returncode == 0, 60, step=0.5)
    row.came = (
        f"a pod started without it; an image could be fetched {time.monotonic() - begun:.1f} s after the kill"
    )


@pytest.mark.parametrize("role", ["worker", "master"])
def test_each_node_of_a_role_reboots_in_turn(lab, kube, pods, tried, role):
    nodes = lab.names(role)
    row = tried(
        "reboot",
        f"{', '.join(nodes)} lose power one after the other and come back",
        "everything runs again, by itself; apply changes nothing",
    )
    took = []
    for node in nodes:
        before = services(lab, node)
        assert {"kubelet.service", "kube-proxy.service", "docker.service", "calico-node.service"} <= before
        assert avadm("lab", "power", node, "off").returncode == 0
        begun = time.monotonic()
        assert avadm("lab", "power", node, "on").returncode == 0
        healthy(kube)
        assert wait(lambda n=node, b=before: b <= services(lab, n), 60), before - services(lab, node)
        took.append(f"{node} {time.monotonic() - begun:.0f}")
    space = next(iter(pods.values()))["metadata"]["namespace"]
    assert wait(lambda: all_running(kube, space), 120), kube.ctl(f"get pods -n {space} -o wide")
    unchanged()
    row.came = f"all well after {', '.join(took)} s; all {len(pods)} pods run; apply changed nothing"


def all_running(kube, space):
    """Return whether every pod of a namespace runs with all its containers."""
    found = [p["status"] for p in kube.get(f"pods -n {space}")["items"]]
    return all(c["ready"] for s in found for c in s.get("containerStatuses", [])) and all(
        s["phase"] == "Running" for s in found
    )
