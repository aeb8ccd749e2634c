"""What the roles of names, the way in and the registry are told, from the site file."""

from pathlib import Path

import pytest

from avadm.pki import store as pki
from avadm.render import Vars, addons
from avadm.site import profile as profiles
from avadm.site.model import Site

MASTER = {"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master"]}
WORKERS = [
    {"name": f"w{i}", "address": f"10.0.0.2{i}", "roles": ["worker", "dns", "ingress"]} for i in (1, 2, 3)
]
NETWORK = {
    "management": "10.0.0.0/24",
    "domain": "demo.test",
    "api_vip": "10.0.0.250",
    "ingress_vip": "10.0.0.251",
}


@pytest.fixture
def made(tmp_path: Path):
    def render(network=None, **kubernetes: object) -> Vars:
        one = Site.model_validate(
            {
                "name": "demo",
                "network": {**NETWORK, **(network or {})},
                "nodes": [MASTER, *WORKERS],
                "components": {"kubernetes": kubernetes},
            }
        )
        path = tmp_path / "demo.yml"
        pki.issue(pki.Store.open(path), one, {name: make() for name, make in pki.makers(one).items()})
        out = Vars()
        out.all["base_hosts"] = ""
        addons.render(one, profiles.load("lab-bookworm"), pki.Store.open(path), out)
        return out

    return render


def test_three_dns_nodes_serve_the_cluster_and_each_answers_at_its_own_address(made) -> None:
    out = made()
    assert out.all["kube_addons_dns_servers"] == ["10.0.0.21", "10.0.0.22", "10.0.0.23"]
    assert [out.hosts[n]["coredns_address"] for n in ("w1", "w2", "w3")] == out.all["kube_addons_dns_servers"]
    assert len({out.hosts[n]["coredns_certificate"] for n in ("w1", "w2", "w3")}) == 3
    assert "coredns_address" not in out.hosts["m1"]


def test_tenants_namespaces_are_told_which_addresses_are_pods(made) -> None:
    assert made(network={"pods": "10.44.0.0/16"}).all["kube_addons_pods"] == "10.44.0.0/16"


def test_pods_find_the_virtual_addresses_by_the_names_in_their_certificates(made) -> None:
    lines = made().all["coredns_site_hosts"].splitlines()
    assert "10.0.0.250 kubernetes.demo.test" in lines
    assert "10.0.0.251 ingress.demo.test" in lines


def test_servers_of_the_site_s_own_domain_are_handed_on(made) -> None:
    out = made(dns_site=["10.0.0.5"], dns_upstream=["10.0.0.6"])
    assert (out.all["coredns_site_servers"], out.all["coredns_upstream"]) == (["10.0.0.5"], ["10.0.0.6"])
