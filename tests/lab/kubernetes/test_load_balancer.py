"""Services of the type LoadBalancer: reached from a node outside the cluster at an address that moves with its node."""

import json
import time
import uuid
from itertools import pairwise

import pytest

from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
WITHIN = 10  # seconds for the addresses to be on another node
CUT_S = 30
# sshd of the pod's node, run in the pod's network by the pod's container: what ssh reaches is a process of the pod.
SSHD = "/usr/sbin/sshd -D -e -p 2222 -o PidFile=none -o StrictModes=no -o AuthorizedKeysFile={folder}/key.pub"
TRY = """
import socket, sys, time
end, seen = time.time() + float(sys.argv[2]), []
while time.time() < end:
    begun = time.time()
    try:
        link = socket.create_connection((sys.argv[1], 22), 1)
        link.settimeout(1)
        good = link.recv(4) == b"SSH-"
        link.close()
    except (OSError, socket.timeout):
        good = False
    print("%.2f %d" % (begun, good), flush=True)
    time.sleep(max(0, 0.2 - (time.time() - begun)))
"""


@pytest.fixture(scope="module", autouse=True)
def pool(lab):
    """The addresses that keepalived holds for services."""
    text = lab.sh(lab.names("ingress")[0], "cat /etc/keepalived/conf.d/*.conf")
    part = text.partition("vrrp_instance services {")[2]
    if not part:
        pytest.skip("this lab has no addresses for services")
    return [line.strip()[:-3] for line in part.splitlines() if line.strip().endswith("/32")]


@pytest.fixture(scope="module")
def space(kube, lab, registry):
    """A namespace with a pod in which sshd runs, on a worker that holds no address; its services are `given` theirs."""
    name = f"lb-{uuid.uuid4().hex[:8]}"
    outside, folder = kube.outside(), f"/tmp/{name}"
    worker = next(n for n in lab.names("worker") if n not in lab.names("ingress"))
    lab.sh(outside, f"mkdir -m 700 {folder} && ssh-keygen -q -t ed25519 -N '' -f {folder}/key")
    public = lab.sh(outside, f"cat {folder}/key.pub").strip()
    lab.sh(worker, f"mkdir -m 700 {folder} && echo '{public}' > {folder}/key.pub && mkdir -p /run/sshd")
    container = {
        "name": "sshd",
        "image": f"{registry}/avadm/base:12",
        "command": ["chroot", "/host", *SSHD.format(folder=folder).split()],
        "volumeMounts": [{"name": "host", "mountPath": "/host"}],
        "readinessProbe": {"tcpSocket": {"port": 2222}, "periodSeconds": 1},
    }
    spec = {
        "nodeName": worker,
        "containers": [container],
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
        "terminationGracePeriodSeconds": 1,
    }
    kube.ctl(f"create namespace {name}")
    try:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "sshd", "namespace": name, "labels": {"app": "sshd"}},
        }
        kube.apply({**pod, "spec": spec})
        up = wait(lambda: all_ready(kube, name), 120)
        assert up, kube.ctl(f"describe pods -n {name}") + kube.ctl(f"logs -n {name} sshd || true")
        yield name
    finally:
        kube.ctl(f"delete namespace {name} --wait=false || kubectl delete namespace {name} || true")
        for node in (worker, outside):
            lab.run(node, f"rm -rf {folder}")


def all_ready(kube, name):
    states = kube.get(f"pod sshd -n {name}")["status"].get("containerStatuses", [])
    return bool(states) and all(s["ready"] for s in states)


def ask_for(kube, space, name, **spec):
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": space},
            "spec": {
                "type": "LoadBalancer",
                "selector": {"app": "sshd"},
                "ports": [{"port": 22, "targetPort": 2222}],
                **spec,
            },
        }
    )


def given(kube, space, name):
    """Return a service's address, "" while it has none."""
    found = kube.get(f"service {name} -n {space}")["status"].get("loadBalancer", {}).get("ingress") or [{}]
    return found[0].get("ip", "")


@pytest.fixture
def service(kube, space):
    """A service with its address; afterwards it is gone."""
    ask_for(kube, space, "ssh")
    address = wait(lambda: given(kube, space, "ssh"), 30, step=0.5)
    yield address
    kube.ctl(f"delete service -n {space} --all")


def holder(lab, address):
    """Return the node that has an address."""
    for name in lab.names("ingress"):
        if f" {address}/32" in lab.run(name, "ip -4 -o addr", 20).stdout:
            return name
    return ""


def test_ssh_from_outside_ends_in_the_pod(kube, lab, space, pool, service):
    assert service in pool
    options = (
        "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5"
    )
    line = f"ssh {options} -i /tmp/{space}/key root@{service} 'hostname; sleep 3; echo still there'"
    outside = kube.outside()
    reply = wait(lambda: lab.run(outside, line).stdout.split("\n")[:2], 30)
    assert reply == ["sshd", "still there"]


def test_what_is_no_service_s_does_not_reach_the_node_that_holds_the_address(kube, lab, space, pool):
    ask_for(kube, space, "other", ports=[{"port": 8080, "targetPort": 2222}])
    try:
        address = wait(lambda: given(kube, space, "other"), 30, step=0.5)
        outside = kube.outside()
        assert wait(
            lambda: lab.run(outside, f"timeout 3 bash -c '</dev/tcp/{address}/8080'").returncode == 0, 30
        )
        for port in (22, 10250):
            assert lab.run(outside, f"timeout 3 bash -c '</dev/tcp/{address}/{port}'").returncode != 0
        # From a node of the cluster neither, nor from the holder's own network of pods.
        assert lab.run(lab.names("worker")[-1], f"timeout 3 bash -c '</dev/tcp/{address}/22'").returncode != 0
        assert lab.run(outside, f"ping -c 1 -W 3 {address}").returncode == 0
    finally:
        kube.ctl(f"delete service -n {space} --all")


def test_who_comes_too_late_waits_is_reported_why_and_gets_what_is_given_back(kube, lab, space, pool):
    names = [f"s{i}" for i in range(len(pool))]
    try:
        for name in names:
            ask_for(kube, space, name)
        got = wait(lambda: sorted(filter(None, (given(kube, space, n) for n in names))) == sorted(pool), 30)
        assert got, [given(kube, space, n) for n in names]
        ask_for(kube, space, "late")
        report = wait(lambda: "are given" in kube.ctl(f"describe service late -n {space}"), 30)
        assert report
        assert given(kube, space, "late") == ""
        free = given(kube, space, names[0])
        kube.ctl(f"delete service -n {space} {names[0]}")
        assert wait(lambda: given(kube, space, "late"), 20, step=0.5) == free
        # One that is not meant for outside any more gives its address back.
        inner = {"spec": {"type": "ClusterIP", "ports": [{"port": 22, "nodePort": None}]}}
        kube.ctl(f"patch service -n {space} late -p '{json.dumps(inner)}'")
        assert wait(lambda: given(kube, space, "late") == "", 20, step=0.5)
    finally:
        kube.ctl(f"delete service -n {space} --all")


@pytest.mark.core("load balancer")
def test_what_gives_the_addresses_may_do_nothing_else(kube, lab):
    node = lab.names("ingress")[0]
    folder = "/etc/avadm/balancer"
    server = lab.sh(node, "grep -o 'https://[0-9.:]*' /etc/systemd/system/avadm-balancer.service").strip()

    def status(path, method="GET"):
        identity = f"--cacert {folder}/ca.crt --cert {folder}/client.crt --key {folder}/client.key"
        return lab.sh(
            node, f"curl -s -o /dev/null -w '%{{http_code}}' {identity} -X {method} {server}{path}"
        ).strip()

    assert status("/api/v1/services") == "200"
    assert status("/api/v1/secrets") == "403"
    assert status("/api/v1/pods") == "403"
    assert status("/api/v1/namespaces/default/services/kubernetes", "DELETE") == "403"


@pytest.mark.slow
def test_the_address_moves_when_its_node_is_cut_off_and_does_not_come_back(kube, lab, space, service, tried):
    tried(
        "load balancer",
        "the network of the node with the addresses is cut for 30 s",
        f"at most {WITHIN} s without answers",
    )
    outside, first = kube.outside(), holder(lab, service)
    assert first
    lab.sh(outside, f"cat > /tmp/{space}/try.py <<'END'\n{TRY}\nEND")
    assert wait(lambda: lab.run(outside, f"python3 /tmp/{space}/try.py {service} 0.5").stdout.count(" 1"), 30)
    cut = (
        f"r=$(ip route show default); sleep 3; ip link set eth0 down; sleep {CUT_S}; ip link set eth0 up; "
        '[ -z "$r" ] || ip route replace $r'
    )
    lab.sh(first, f"systemd-run --unit=cut-{space} bash -c {json.dumps(cut).replace('$', chr(92) + '$')}")
    report = lab.sh(outside, f"python3 /tmp/{space}/try.py {service} {CUT_S + 30}", timeout=CUT_S + 120)
    seen = [(float(t), g == "1") for t, g in (line.split() for line in report.splitlines())]
    good = [t for t, fine in seen if fine]
    longest = max(b - a for a, b in pairwise(good))
    print(
        f"longest time without an answer: {longest:.1f} s of {len(seen)} tries, {len(seen) - len(good)} failed"
    )
    assert len(good) < len(seen), "nothing was cut off"
    assert longest < WITHIN
    assert seen[-1][1]
    # Anyone who has the addresses keeps them.
    assert wait(lambda: lab.run(first, "true", 20).returncode == 0, 60)
    time.sleep(5)
    assert holder(lab, service) not in ("", first)
