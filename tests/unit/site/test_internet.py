"""The HTTP proxy to the internet: what docker and builds reach without it, and the settings of nodes."""

import pytest

from avadm.checks import collect
from avadm.components.nodes import variables_common
from avadm.site import internet
from avadm.site import profile as profiles
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

PROXY = "http://10.0.0.5:3128"
NODES = [node("m1", 11, "etcd", "master"), node("w1", 12, "worker"), node("s1", 13, "osd")]


def site(nodes=NODES, proxy=PROXY, **more):
    components = {
        "database": {"vip": "10.0.0.252"},
        "object_store": {"vip": "10.0.0.253", "name": "s3.corp.test"},
        "kubernetes": {
            "registries": [{"name": "hub.test:5000"}, {"name": "in.demo.test"}, {"name": "10.0.0.9:5000"}]
        },
    }
    packages = {"internet_proxy": proxy, **more} if proxy else {}
    return sites.site(*nodes, packages=packages, components=components, network={"ingress_vip": "10.0.0.251"})


def exceptions(one, profile):
    return internet.exceptions(one, profiles.load(profile))


def test_docker_that_knows_no_networks_has_each_address():
    found = exceptions(site(no_proxy=["hub.test"]), "stated")
    addresses = [f"10.0.0.{n}" for n in (11, 12, 13, 250, 251, 252, 253)]
    names = [".demo.test", "registry.demo.test", ".cluster.local", "s3.corp.test", "hub.test"]
    assert found == ["localhost", "127.0.0.1", *addresses, *names]


@pytest.mark.parametrize("profile", ["debian-12", "lab-bookworm", "lab-bullseye"])
def test_a_further_node_changes_nothing_where_docker_knows_networks(profile):
    found = exceptions(site(), profile)
    assert found[2] == "10.0.0.0/24"
    assert exceptions(site([*NODES, node("w2", 14, "worker")]), profile) == found


def test_nodes_are_reported_only_where_there_is_a_proxy():
    out = sites.render(site(), variables_common, profile="debian-12")
    assert out.all["docker_proxy"] == PROXY
    assert out.all["docker_no_proxy"] == exceptions(site(), "debian-12")
    assert not {"docker_proxy", "docker_no_proxy"} & set(sites.render(site(proxy=None), variables_common).all)


def test_builds_have_the_variables():
    one = profiles.load("debian-12")
    report = internet.environment(site(), one)
    assert (report["http_proxy"], report["https_proxy"]) == (PROXY, PROXY)
    assert report["no_proxy"].split(",") == internet.exceptions(site(), one)
    assert internet.environment(site(proxy=None), one) == {}


def test_preflight_asks_only_foreign_registries_by_the_proxy():
    one = site()
    asked = {n.name: collect._parameters(one, profiles.load("debian-12"), n, [], None) for n in one.nodes}
    assert asked["w1"]["internet_proxy"] == PROXY
    assert asked["w1"]["proxied_registries"] == ["hub.test:5000"]
    assert asked["s1"]["internet_proxy"] is None
