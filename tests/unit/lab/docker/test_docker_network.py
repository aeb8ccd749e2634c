import json

import pytest

from avadm_lab.docker import network
from avadm_lab.docker.client import Docker
from avadm_lab.layout import Config
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc

CONFIG = Config()


def net(name="avadm-lab", subnet="10.77.0.0/24", lab: str | None = "lab", **more):
    labels = {"avadm.lab": lab} if lab else {}
    ipam = {"Config": [{"Subnet": subnet}]}
    return {"Id": f"id-{name}", "Name": name, "IPAM": ipam, "Labels": labels, **more}


def machine(*nets, routes=(), bridge=True):
    proc = FakeProc()
    proc.on(r"docker network ls", "\n".join(n["Id"] for n in nets))
    proc.on(r"docker network inspect", json.dumps(nets))
    proc.on(r"^ip -json -4 route", json.dumps(routes))
    shown = [{"ifname": "avadm-lab", "addr_info": [{"local": "10.77.0.1"}]}] if bridge else []
    proc.on(r"^ip -json -4 addr", json.dumps(shown), rc=0 if bridge else 1)
    return proc


def test_made_with_own_bridge_label_and_addresses():
    proc = machine()
    assert network.ensure(Docker(proc), CONFIG, "/f")
    (line,) = proc.ran("network create")
    for part in ("--subnet 10.77.0.0/24", "--gateway 10.77.0.1", "avadm.lab=lab", "bridge.name=avadm-lab"):
        assert part in line


def test_left_alone_where_it_is_right():
    proc = machine(net())
    assert not network.ensure(Docker(proc), CONFIG, "/f")
    assert not proc.ran("create| rm ")


def test_made_again_where_a_killed_engine_left_no_bridge():
    proc = machine(net(Containers={"c1": {}}), bridge=False)
    assert network.ensure(Docker(proc), CONFIG, "/f")
    assert proc.ran("network disconnect -f id-avadm-lab c1")
    assert proc.ran("network rm id-avadm-lab")


def test_a_strangers_network_of_that_name_is_not_touched():
    proc = machine(net(lab=None))
    assert refused(network.ensure, Docker(proc), CONFIG, "/f")[0].check == "lab-network"
    assert not proc.ran(" rm ")


@pytest.mark.parametrize("subnet", ["10.77.0.0/24", "10.0.0.0/8", "10.77.0.128/25"])
def test_overlap_with_another_docker_network(subnet):
    (finding,) = network.overlaps(CONFIG, [net("other", subnet, None)], [])
    assert "docker network other" in finding.found
    assert "--subnet" in finding.remedy


def test_overlap_with_a_route_of_the_machine():
    routes = [{"dst": "default", "dev": "eth0"}, {"dst": "10.64.0.0/12", "dev": "tun0"}]
    (finding,) = network.overlaps(CONFIG, [], routes)
    assert "route on tun0" in finding.found


def test_one_network_is_reported_once():
    routes = [
        {"dst": "10.77.0.0/24", "dev": "br-1"},
        {"type": "local", "dst": "10.77.0.1", "dev": "br-1"},
        {"type": "broadcast", "dst": "10.77.0.255", "dev": "br-1"},
    ]
    assert len(network.overlaps(CONFIG, [net("other", lab=None)], routes)) == 1


@pytest.mark.parametrize(
    ("nets", "routes"),
    [
        ([net()], [{"dst": "10.77.0.0/24", "dev": "avadm-lab"}]),
        ([net("a", "10.78.0.0/24", None), net("b", "fd00::/64", None)], []),
    ],
    ids=["its own", "neighbours and IPv6"],
)
def test_no_overlap(nets, routes):
    assert not network.overlaps(CONFIG, nets, routes)
