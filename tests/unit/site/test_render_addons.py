"""Variables of the roles of names, ingress and registry, from the site file."""

import pytest

from avadm.components.addons import variables as addons
from avadm.inventory.model import Variables
from tests.unit.fakes.sites import issued, node, render, site

WORKERS = [node(f"w{i}", 20 + i, "worker", "dns", "ingress") for i in (1, 2, 3)]


@pytest.fixture
def made(tmp_path):
    def render_all(network=None, **kubernetes):
        network = {"ingress_vip": "10.0.0.251", **(network or {})}
        parts = {"kubernetes": kubernetes}
        one = site(node("m1", 11, "etcd", "master"), *WORKERS, network=network, components=parts)
        return render(one, addons, store=issued(one, tmp_path), out=Variables(all={"base_hosts": ""}))

    return render_all


def test_three_dns_nodes_serve_the_cluster_and_each_answers_at_its_own_address(made):
    out = made()
    assert out.all["kube_addons_dns_servers"] == ["10.0.0.21", "10.0.0.22", "10.0.0.23"]
    assert [out.hosts[n]["coredns_address"] for n in ("w1", "w2", "w3")] == out.all["kube_addons_dns_servers"]
    assert len({out.hosts[n]["coredns_certificate"] for n in ("w1", "w2", "w3")}) == 3
    assert "coredns_address" not in out.hosts["m1"]


def test_tenants_namespaces_are_reported_which_addresses_are_pods(made):
    networks = {"pods": "10.44.0.0/16", "more_pods": ["10.46.0.0/16"]}
    out = made(network=networks).all
    assert out["kube_addons_pods"] == ["10.44.0.0/16", "10.46.0.0/16"]
    assert out["coredns_reverse"] == ["10.96.0.0/16", "10.44.0.0/16", "10.46.0.0/16"]


def test_pods_find_the_virtual_addresses_by_the_names_in_their_certificates(made):
    lines = made().all["coredns_site_hosts"].splitlines()
    assert {"10.0.0.250 kubernetes.demo.test", "10.0.0.251 ingress.demo.test"} <= set(lines)


def test_servers_of_the_site_s_own_domain_are_handed_on(made):
    out = made(dns_site=["10.0.0.5"], dns_upstream=["10.0.0.6"])
    assert (out.all["coredns_site_servers"], out.all["coredns_upstream"]) == (["10.0.0.5"], ["10.0.0.6"])
