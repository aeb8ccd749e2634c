"""Nodes with ceph: which packages change there, when they have changed, and what runs on the node for that."""

from dataclasses import dataclass, field

import pytest

from avadm.cluster.connection import Cluster
from avadm.components.catalog import UPGRADES
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations.ceph_nodes import CephNodes
from avadm.operations.upgrade_model import Asked
from avadm.remote.fleet import Result
from avadm.site import profile as profiles
from avadm.site.load import load
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.operations.ceph_room import SITE, TO


@dataclass
class Fleet:
    """Nodes that answer commands with the given output, and exit status."""

    out: str = ""
    rc: int = 0
    ran: list = field(default_factory=list)

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.ran.append((node, command))
        return Result(node, command, self.rc, self.out, "no such unit", 0.0, 0.0)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {node: self.run(node, command) for node, command in commands.items()}


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    before = load(path)
    one = UPGRADES["ceph"][1]
    profile = before.profile.with_component(one.programs, one.roles, profiles.load(TO))
    cluster = Cluster(before, Fleet(), SiteState.of(path, "t"))
    after = type(before)(
        **{**{f: getattr(before, f) for f in before.__dataclass_fields__}, "profile": profile}
    )
    return CephNodes(Asked(cluster, one, "avadm upgrade ceph", before, after))


def moves(nodes, name):
    return nodes.moves(nodes.asked.cluster.site.node(name))


def test_only_packages_of_ceph_change_each_to_the_pinned_version(nodes):
    assert moves(nodes, "s1") == {
        **dict.fromkeys(
            ["ceph-common", "ceph-mon", "ceph-mgr", "ceph-mgr-modules-core", "ceph-osd", "ceph-mds"], "18.2.*"
        ),
        "python3-cherrypy3": "18.10.*",
    }
    assert moves(nodes, "w1") == dict.fromkeys(
        ["ceph-common", "ceph-fuse", "python3-rbd", "rbd-fuse"], "18.2.*"
    )
    assert moves(nodes, "m1") == {}


def listing(nodes, name, version):
    return "".join(
        f"{p}\t{version or pattern.replace('*', '7-1')}\n" for p, pattern in moves(nodes, name).items()
    )


@pytest.mark.parametrize(
    ("state", "version", "wanted"),
    [
        (PhaseState.DONE, "", True),
        (PhaseState.DONE, "16.2.15+ds-0", False),
        (PhaseState.FAILED, "", False),  # its transaction was cut off
    ],
)
def test_packages_are_new_when_all_are_and_their_phase_ended(nodes, state, version, wanted):
    cluster = nodes.asked.cluster
    cluster.state.start("base", {"s1": "d"}, "r")
    cluster.state.finish("base", {"s1": state})
    cluster.fleet.out = listing(nodes, "s1", version)
    assert nodes.has_packages(cluster.site.node("s1")) is wanted


def test_one_package_that_lacks_is_not_new(nodes):
    cluster = nodes.asked.cluster
    cluster.state.start("base", {"s1": "d"}, "r")
    cluster.state.finish("base", {"s1": PhaseState.DONE})
    cluster.fleet.out = listing(nodes, "s1", "").replace("ceph-osd", "other")
    assert not nodes.has_packages(cluster.site.node("s1"))


def test_daemons_are_restarted_together_though_they_were_started_often(nodes):
    nodes.restart("s1", ["ceph-osd@0", "ceph-osd@1"])
    [(node, command)] = nodes.asked.cluster.fleet.ran
    assert node == "s1"
    assert command == (
        "systemctl reset-failed ceph-osd@0 ceph-osd@1 2>/dev/null; systemctl restart ceph-osd@0 ceph-osd@1"
    )


def test_a_daemon_that_cannot_be_restarted_ends_it_with_exit_1(nodes):
    nodes.asked.cluster.fleet.rc = 1
    with pytest.raises(AvadmError) as error:
        nodes.restart("s1", ["ceph-mon@s1"])
    assert error.value.exit_code == EXIT_FOUND_BAD
    assert [(f.check, f.host) for f in error.value.findings] == [("upgrade-command", "s1")]


def test_the_mount_is_never_unmounted_lazily(nodes):
    nodes.remount("w1")
    [(_, command)] = nodes.asked.cluster.fleet.ran
    assert "umount /mnt/cephfs" in command and " -l" not in command and " -f" not in command


def test_versions_are_compared_by_number(nodes):
    assert [nodes.is_new(v) for v in ("18.2.7", "18.20.1", "16.2.15", "")] == [True, False, False, False]
