"""Tenants' namespaces are closed to each other's pods, and open to their own, to nodes and to who comes from outside."""

import json
import uuid

import pytest

from tests.lab.kubernetes.test_addons import vip
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab
NAME = f"closed-{uuid.uuid4().hex[:8]}"
SPACES = ("lab-tenant", "lab-neighbour")
PORT = 8080
TRIES = 20


def pod(image, space, number, node):
    """Return a pod that tells anybody who asks its host name, which is its own name."""
    name = f"{NAME}-{number}"
    container = {
        "name": "c",
        "image": image,
        "command": f"python3 -m http.server {PORT} --directory /etc".split(),
        "readinessProbe": {"httpGet": {"path": "/hostname", "port": PORT}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, "labels": {"app": NAME}},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def ways(space, kind):
    """Return a service of both pods of a namespace, and an ingress to it."""
    meta = {"name": NAME, "namespace": space, "labels": {"app": NAME}}
    backend = {"serviceName": NAME, "servicePort": 80}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"type": kind, "selector": {"app": NAME}, "ports": [{"port": 80, "targetPort": PORT}]},
    }
    rule = {"host": f"{NAME}.example", "http": {"paths": [{"path": "/", "backend": backend}]}}
    ingress = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": meta,
        "spec": {"rules": [rule]},
    }
    return service, ingress


@pytest.fixture(scope="module")
def balanced(lab):
    """Tell whether this lab has addresses for services."""
    return bool(lab.names("ingress")) and "vrrp_instance services {" in lab.sh(
        lab.names("ingress")[0], "cat /etc/keepalived/conf.d/*.conf"
    )


@pytest.fixture(scope="module")
def addresses(kube, lab, registry, balanced):
    """Namespace to the addresses of its two pods, on two nodes: those that may hold services' addresses."""
    image = f"{registry}/avadm/base:12"
    nodes = list(dict.fromkeys([*lab.names("ingress"), *lab.names("worker")]))[:2]
    if len(nodes) < 2:
        pytest.skip("this lab has one worker alone")
    pods = [pod(image, space, i, node) for space in SPACES for i, node in enumerate(nodes)]
    try:
        kube.apply(*pods, *ways(SPACES[0], "LoadBalancer" if balanced else "ClusterIP"))

        def up(space):
            found = kube.get(f"pods -n {space} -l app={NAME}")["items"]
            states = {p["metadata"]["name"]: p["status"] for p in found}
            good = [
                n for n, s in states.items() if [c["ready"] for c in s.get("containerStatuses", [])] == [True]
            ]
            return [states[name]["podIP"] for name in sorted(good)]

        # Ready: kubelet's probes come in.
        ready = wait(lambda: all(len(up(space)) == len(nodes) for space in SPACES), 120)
        assert ready, "".join(kube.ctl(f"describe pods -n {space} -l app={NAME}") for space in SPACES)
        yield {space: up(space) for space in SPACES}
    finally:
        for space in SPACES:
            kube.ctl(f"delete pods,services,ingresses -n {space} -l app={NAME} --ignore-not-found")


def asks(kube, space, *places):
    """Return what the first pod of a namespace gets at each place (address:port), all at once; "shut" without an answer."""
    code = f"""
import concurrent.futures as futures, urllib.request as requests
def ask(place):
    try: return requests.urlopen("http://" + place + "/hostname", timeout=3).read().decode().strip()
    except OSError: return "shut"
print(*futures.ThreadPoolExecutor(8).map(ask, {json.dumps(places)}))"""
    return kube.ctl(f"exec -n {space} {NAME}-0 -- python3 -c '{code}'").split()


def by_service(kube, space):
    return kube.get(f"service {NAME} -n {space}")["spec"]["clusterIP"] + ":80"


@pytest.mark.core("pods")
def test_a_namespace_reaches_itself_on_every_node_and_by_its_service(kube, addresses):
    for space in SPACES:
        assert asks(kube, space, f"{addresses[space][1]}:{PORT}") == [f"{NAME}-1"]
    answers = asks(kube, SPACES[0], *[by_service(kube, SPACES[0])] * 4)
    assert set(answers) <= {f"{NAME}-0", f"{NAME}-1"}
    assert len(answers) == 4


@pytest.mark.core("network policy")
def test_a_namespace_does_not_reach_another_tenant_s_pods(kube, addresses):
    tenant, neighbour = SPACES
    # Each of these pods reaches and is reached, as the test before has seen: on the same node and on another.
    theirs = {space: [f"{address}:{PORT}" for address in addresses[space]] for space in SPACES}
    assert asks(kube, neighbour, *theirs[tenant], by_service(kube, tenant)) == ["shut"] * 3
    assert asks(kube, tenant, *theirs[neighbour]) == ["shut"] * 2


def test_every_node_reaches_a_tenant_s_pods(kube, lab, addresses):
    """So do the ingress controllers, and the API servers through which Prometheus scrapes pods."""
    for node in kube.nodes():
        for number, address in enumerate(addresses[SPACES[0]]):
            text = lab.run(node, f"curl -s -m 5 http://{address}:{PORT}/hostname").stdout.strip()
            assert text == f"{NAME}-{number}", node


def test_a_tenant_s_pods_are_reached_through_the_ingress(kube, lab, addresses):
    outside = kube.outside()
    ask = f"curl -s -m 4 -H 'Host: {NAME}.example' http://{vip(lab)}/hostname"
    wanted = {f"{NAME}-0", f"{NAME}-1"}
    assert wait(lambda: lab.run(outside, ask).stdout.strip() in wanted, 30)
    assert {lab.run(outside, ask).stdout.strip() for _ in range(TRIES)} == wanted


def test_a_tenant_s_pods_are_reached_by_the_address_of_their_service(kube, lab, addresses, balanced):
    """On the node that holds the address, its own pods see who asks: no node's address, and let in none the less."""
    if not balanced:
        pytest.skip("this lab has no addresses for services")
    outside = kube.outside()

    def given():
        found = kube.get(f"service {NAME} -n {SPACES[0]}")["status"].get("loadBalancer", {}).get("ingress")
        return found[0]["ip"] if found else ""

    address = wait(given, 30)
    assert address
    ask = f"curl -s -m 4 http://{address}/hostname"
    wanted = {f"{NAME}-0", f"{NAME}-1"}
    assert wait(lambda: lab.run(outside, ask).stdout.strip() in wanted, 30)
    seen = [lab.run(outside, ask).stdout.strip() for _ in range(TRIES)]
    assert set(seen) == wanted, seen
