"""Variables of the roles of Kubernetes' nodes."""

import pytest

from avadm.components.base import variables as core
from avadm.components.nodes import variables_common
from avadm.site import profile as profiles
from tests.unit.fakes.sites import node, render, site

MON = node("s1", 3, "mon")
GPU = node("g1", 4, "worker", "gpu", gpus={"count": 4, "model": "p100"})
SITE = site(node("m1", 1, "etcd", "master"), node("w1", 2, "worker"), MON, GPU)


@pytest.mark.parametrize("name", profiles.names())
def test_each_profile_has_an_engine(name):
    assert render(SITE, variables_common, profile=name).all["docker_packages"]
    assert profiles.load(name).versions["docker"]


def test_a_site_without_masters_has_none_of_it():
    out = render(site(MON), variables_common)
    assert (out.all, out.hosts) == ({}, {})


def test_the_base_phase_leaves_the_engine_and_pinned_packages_to_their_roles():
    assert "docker.io" not in render(SITE, core).hosts["w1"]["base_packages"]
    stated = render(SITE, core, profile="stated")
    assert not [p for p in stated.hosts["g1"]["base_packages"] if "nvidia" in p]


@pytest.mark.parametrize("name", ["stated", "lab-bookworm"])
def test_gpu_nodes_are_reported_of_their_gpus_and_others_not(name):
    out = render(SITE, variables_common, profile=name)
    own = out.hosts["g1"]
    assert own["gpu_driver_count"] == 4
    assert own["docker_default_runtime"] == "runc", "NVIDIA's gives all to any container"
    assert "nvidia" in own["docker_runtimes"]
    assert out.all["gpu_driver_version"].startswith("396.")
    assert "gpu-device-plugin" in out.all["gpu_device_plugin_program"]
    assert "w1" not in out.hosts


def test_a_profile_without_nvidias_runtime_has_docker_know_none():
    out = render(SITE, variables_common, profile="debian-12")
    assert out.all["gpu_runtime_enabled"] is False
    assert out.hosts["g1"]["docker_runtimes"] == {}
    assert out.all["gpu_driver_version"] == "535." and "nvidia-kernel-dkms" in out.all["gpu_driver_packages"]
    assert out.all["gpu_exporter_kind"] == "nvidia-smi"
