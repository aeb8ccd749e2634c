"""How nodes were booted: cgroup v1 for kubelet 1.9, no nouveau on nodes with GPUs; what the remedy says."""

from dataclasses import replace

import pytest

from avadm.checks.preflight import boot
from avadm.site import profile
from avadm_node.probes.preflight import boot as probe
from tests.unit.fakes import sites

V1 = ["cpu", "cpuacct", "cpuset", "memory"]


@pytest.fixture
def booted(context):
    """Return a function that judges a node of some roles by how it was booted."""

    def judge(*roles, controllers=(), nouveau=False, allow=False, by="debian-12"):
        gpus = {"gpus": {"count": 1, "model": "t4"}} if "gpu" in roles else {}
        site = sites.site(sites.node("n1", 1, *roles, **gpus), boot={"allow_reboot": allow})
        facts = {"n1": {"boot": {"controllers": list(controllers), "nouveau": nouveau}}}
        given = replace(context, site=site, nodes=site.nodes, facts=facts, profile=profile.load(by))
        return boot.judge(given)

    return judge


@pytest.mark.parametrize("role", ["master", "worker"])
def test_cgroup_v2_only_is_an_error_where_kubelet_runs(booted, role):
    (finding,) = booted(role)
    assert (finding.host, finding.severity, finding.found) == ("n1", "error", "cgroup v2 only")
    assert "Set `boot.allow_reboot: true`" in finding.remedy and "update-grub" in finding.remedy
    assert booted(role, controllers=V1) == []


def test_elsewhere_it_does_not_matter(booted):
    assert booted("mon", "osd", "client", nouveau=True) == []


def test_a_single_controller_that_is_switched_off_is_named(booted):
    (finding,) = booted("worker", controllers=["cpu", "cpuacct", "cpuset", "pids"])
    assert finding.found == "cgroup v1 without memory"


def test_the_remedy_is_bootstrap_where_the_site_allows_it_and_by_hand_where_the_profile_has_no_argument(
    booted,
):
    (finding,) = booted("worker", allow=True)
    assert finding.remedy.startswith("Run `avadm bootstrap`")
    (finding,) = booted("worker", by="stated")
    assert finding.remedy.startswith("Add systemd.unified_cgroup_hierarchy=0 to GRUB_CMDLINE_LINUX")
    assert "bootstrap" not in finding.remedy


def test_nouveau_is_an_error_on_nodes_with_gpus(booted):
    (finding,) = booted("worker", "gpu", controllers=V1, nouveau=True)
    assert finding.found == "nouveau is loaded" and "modprobe.blacklist=nouveau" in finding.remedy
    assert booted("worker", controllers=V1, nouveau=True) == []


MOUNTS = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
CGROUPS = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\ncpuacct\t1\t1\t1\nmemory\t2\t1\t1\ncpuset\t0\t1\t1\n"


@pytest.mark.parametrize(
    ("mounts", "modules", "found"),
    [
        (MOUNTS, "", {"controllers": ["cpu", "cpuacct", "memory"], "nouveau": False}),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n", "drm 1 0 - Live 0x0\nnouveau 1 0 - Live 0x0\n",
         {"controllers": [], "nouveau": True}),
        ("tmpfs /memory tmpfs rw,memory 0 0\n", "drm_nouveau 1 0 - Live\n", {"controllers": [], "nouveau": False}),
    ],
    ids=["v1", "v2 and nouveau", "neither"],
)  # fmt: skip
def test_the_node_tells_it(monkeypatch, mounts, modules, found):
    files = {"/proc/self/mounts": mounts, "/proc/cgroups": CGROUPS}
    monkeypatch.setattr(probe, "read", files.__getitem__)
    monkeypatch.setattr(probe, "slurp", lambda path: modules)
    assert probe.boot() == found
