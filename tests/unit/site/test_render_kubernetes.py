"""What the roles of Kubernetes' nodes are told."""

import pytest

from avadm.render import Vars
from avadm.render.core import render as render_core
from avadm.render.kubernetes import render
from avadm.site import profile as profiles
from avadm.site.model import Site

NODES = [
    {"name": "m1", "address": "10.0.0.1", "roles": ["etcd", "master"]},
    {"name": "w1", "address": "10.0.0.2", "roles": ["worker"]},
    {"name": "s1", "address": "10.0.0.3", "roles": ["mon"]},
]


def site(nodes=NODES):
    network = {"management": "10.0.0.0/24", "domain": "demo.test", "api_vip": "10.0.0.250"}
    return Site.model_validate({"name": "demo", "network": network, "nodes": nodes})


@pytest.mark.parametrize("name", profiles.names())
def test_each_profile_has_an_engine(name):
    out, profile = Vars(), profiles.load(name)
    render(site(), profile, out)
    assert out.all["docker_packages"]
    assert profile.versions["docker"]


def test_a_site_without_masters_has_none_of_it():
    out = Vars()
    render(site(NODES[2:]), profiles.load("lab-bookworm"), out)
    assert (out.all, out.hosts) == ({}, {})


def test_the_base_phase_leaves_the_engine_to_its_role():
    out = Vars()
    render_core(site(), profiles.load("lab-bookworm"), out)
    assert "docker.io" not in out.hosts["w1"]["base_packages"]


def test_gpu_nodes_are_told_of_their_gpus_and_others_not():
    gpu = {
        "name": "g1",
        "address": "10.0.0.4",
        "roles": ["worker", "gpu"],
        "gpus": {"count": 4, "model": "p100"},
    }
    for name in ("stated", "lab-bookworm"):
        out = Vars()
        render(site([*NODES, gpu]), profiles.load(name), out)
        assert out.hosts["g1"]["gpu_driver_count"] == 4
        assert out.hosts["g1"]["docker_default_runtime"] == "runc", "NVIDIA's gives all to whoever asks"
        assert "nvidia" in out.hosts["g1"]["docker_runtimes"]
        assert out.all["gpu_driver_version"].startswith("396.")
        assert "gpu-device-plugin" in out.all["gpu_device_plugin_program"]
        assert "w1" not in out.hosts


def test_pinned_packages_are_left_to_their_role():
    gpu = {
        "name": "g1",
        "address": "10.0.0.4",
        "roles": ["worker", "gpu"],
        "gpus": {"count": 4, "model": "p100"},
    }
    out = Vars()
    render_core(site([*NODES, gpu]), profiles.load("stated"), out)
    assert not [p for p in out.hosts["g1"]["base_packages"] if "nvidia" in p]
