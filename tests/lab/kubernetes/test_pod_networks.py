"""A second network of pods (`network.more_pods`): a day-two change by the site file and `apply`."""

import json
from ipaddress import IPv4Address

import pytest

from avadm.site.load import load
from tests.lab.faults.drive import avadm, edit_site, unchanged
from tests.lab.kubernetes.test_tenants import NAME, PORT, SPACES, asks, pod
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]
POOL = "cni.projectcalico.org/ipv4pools"


@pytest.fixture(scope="module")
def more(lab):
    """The second network; the site keeps it, since no pool goes while it may have addresses in use."""
    if not lab.names("master"):
        pytest.skip("this lab has no Kubernetes")
    network = load(lab.site_path).site.network
    if not network.more_pods:
        first, second = network.pods.supernet().subnets()
        other = str(first if second == network.pods else second)
        edit_site(lab, lambda data: data["network"].update(more_pods=[other]))
        done = avadm("apply", timeout=3000)
        assert done.returncode == 0, done.stdout + done.stderr
        network = load(lab.site_path).site.network
    return network.more_pods[0]


def test_a_second_run_changes_nothing(lab, more):
    assert unchanged(lab)


def test_pods_of_both_networks_are_tenants_alike(lab, kube, registry, more):
    tenant, neighbour = SPACES
    image, nodes = f"{registry}/avadm/base:12", [*lab.names("worker"), *lab.names("ingress")]
    made = [pod(image, space, 0, nodes[0]) for space in SPACES] + [pod(image, tenant, 1, nodes[-1])]
    made[-1]["metadata"]["annotations"] = {POOL: json.dumps([str(more)])}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "namespace": tenant, "labels": {"app": NAME}},
        "spec": {"selector": {"app": NAME}, "ports": [{"port": 80, "targetPort": PORT}]},
    }
    try:
        kube.apply(*made, service)

        def ready():
            found = [p for space in SPACES for p in kube.get(f"pods -n {space} -l app={NAME}")["items"]]
            states = {(p["metadata"]["namespace"], p["metadata"]["name"]): p["status"] for p in found}
            good = {
                k: s["podIP"]
                for k, s in states.items()
                if [c["ready"] for c in s.get("containerStatuses", [])] == [True]
            }
            return good if len(good) == len(made) else None

        assert wait(ready, 120), kube.ctl(f"describe pods -n {tenant} -l app={NAME}")
        theirs = ready()[tenant, f"{NAME}-1"]
        assert IPv4Address(theirs) in more
        assert asks(kube, tenant, f"{theirs}:{PORT}") == [f"{NAME}-1"]
        assert asks(kube, neighbour, f"{theirs}:{PORT}") == ["shut"]
        address = kube.get(f"service {NAME} -n {tenant}")["spec"]["clusterIP"] + ":80"
        assert set(asks(kube, tenant, *[address] * 8)) == {f"{NAME}-0", f"{NAME}-1"}
        # Out of the second network: it reaches a pod of the first, and nodes take it for a pod.
        ask = f"exec -n {tenant} {NAME}-1 -- python3 -c"
        first = ready()[tenant, f"{NAME}-0"]
        code = f'import urllib.request as u; print(u.urlopen("http://{first}:{PORT}/hostname", timeout=5).read())'
        assert f"{NAME}-0" in kube.ctl(f"{ask} '{code}'")
        address = next(n["address"] for n in lab.nodes if n["name"] == nodes[0])
        code = (
            f'import socket; s = socket.socket(); s.settimeout(3); print(s.connect_ex(("{address}", 9100)))'
        )
        shut = kube.ctl(f"{ask} '{code}'")
        assert shut.strip() not in ("", "0"), "a pod of the second network reaches a node's exporter"
    finally:
        for space in SPACES:
            kube.ctl(f"delete pods,services -n {space} -l app={NAME} --ignore-not-found")


def test_the_doctor_finds_nothing(more):
    done = avadm("doctor", "--only", "network", "--json", timeout=300)
    assert [row for row in json.loads(done.stdout)["checks"] if row["status"] == "bad"] == []
