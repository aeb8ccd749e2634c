"""`avadm node remove`: no data are lost, nothing of the node is left, the same command continues wherever it was killed."""

import json
import re
from pathlib import Path

import pytest

from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.inventory.desired import Desired, Keyring
from avadm.kube import node_runs
from avadm.kube.node_runs import Notice
from avadm.operations import drain, node_remove, removal_host, removal_kubernetes, run
from avadm.pki.store import KeyStore
from avadm.site.load import load
from avadm.site.vault import Vault
from avadm.state.lock.nodes import LockNodes
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.operations.ava_room import run as ava_run
from tests.unit.operations.removal_room import SITE, Room

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


class Site:
    """The site of the room, and what was applied of it."""

    def __init__(self, folder, room):
        self.path, self.room, self.applied, self.lines = folder / "site.yml", room, [], []
        self.path.write_text(SITE)
        self.known = folder / "known_hosts"
        self.known.write_text(f"10.9.0.14,stor4 ssh-ed25519 {KEY}\n10.9.0.23 ssh-ed25519 {KEY}\n")
        self.failing = None

    def follow(self, site_file, tell):
        if self.failing:
            raise self.failing
        self.applied.append([n.name for n in site_file.site.nodes])

    def plan(self, name, role="", dead=False, accepted=()):
        build = lambda cluster: node_remove.build(cluster, name, role, dead, accepted, self.follow)  # noqa: E731
        operation = run.plan(load(self.path), self.room, build)
        return operation, run.refused(operation, accepted)

    def refusals(self, *words, **more):
        return {one.check for one in self.plan(*words, **more)[1]}

    def remove(self, name, role="", dead=False, accepted=()):
        build = lambda cluster: node_remove.build(cluster, name, role, dead, accepted, self.follow)  # noqa: E731
        clock = Clock()
        timed = run.Clock(clock, clock.sleep)
        return run.run(load(self.path), self.room, build, accepted, self.lines.append, clock=timed)

    @property
    def state(self):
        return SiteState.of(self.path, "t")


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path / "nodes")


@pytest.fixture
def site(tmp_path, room, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    return Site(tmp_path, room)


def test_a_storage_node_is_emptied_before_anything_of_it_is_purged(site, room):
    site.remove("stor4")
    assert set(room.osds) == {0, 1, 2}
    assert "stor4" not in room.buckets
    assert "osd.3" not in room.entities
    order = [one for one in room.did if one.startswith("osd ")]
    assert order == ["osd crush reweight osd.3 0", "osd down 3", "osd purge 3", "osd crush rm stor4"]
    assert "name: stor4" not in site.path.read_text()
    assert site.applied == [["stor1", "stor2", "stor3", "mast1", "comp1", "comp2", "comp3"]]
    assert ("stor4", "ceph-osd@3") in room.stopped


def test_the_site_file_keeps_its_comments(site):
    site.remove("comp3")
    assert site.path.read_text() == SITE.replace(SITE.splitlines(keepends=True)[-1], "")


def test_nothing_of_a_worker_is_left(site, room):
    site.remove("comp3")
    assert "comp3" not in room.kube
    assert "comp3" not in room.calico
    assert room.peers == {"avadm-switch-b": ""}
    assert room.pods == {}
    assert next(unit for node, unit in room.stopped if node == "comp3") == "kubelet"
    assert room.did.index("drain comp3") < room.did.index("delete node comp3 --ignore-not-found")
    assert "10.9.0.23 " not in site.known.read_text()
    assert "10.9.0.14,stor4" in site.known.read_text()
    assert site.state.begun() == []


def test_its_certificates_keys_and_records_go_those_of_others_stay(site):
    site_file = load(site.path)
    Desired.make(site_file, Keyring.open(site.path))
    before, store = Vault.open(site.path).read(), KeyStore.open(site.path)
    state = site.state
    for node in ("comp2", "comp3"):
        state.start("nodes", {node: "d"}, "r")
        state.finish("nodes", {node: PhaseState.DONE})
    site.remove("comp3")
    after, left = Vault.open(site.path).read(), KeyStore.open(site.path)
    assert any("comp3" in name for name in store.leaves)
    assert set(store.leaves) - set(left.leaves) == {name for name in store.leaves if "comp3" in name}
    gone = set(before) - set(after)
    assert gone
    assert all("comp3" in name for name in gone)
    assert not [name for name in after if "comp3" in name]
    assert site.state.entry("nodes", "comp3").state is PhaseState.PENDING
    assert site.state.entry("nodes", "comp2").state is PhaseState.DONE


def test_a_second_time_the_node_is_unknown(site):
    site.remove("stor4")
    assert site.refusals("stor4") == {"unknown-node"}


@pytest.mark.parametrize("name", ["stor4", "comp3"])
def test_it_continues_wherever_it_was_killed(site, room, name):
    killed = 0
    for acts in range(60):
        room.killed_after, room.acts = acts, 0
        try:
            site.remove(name)
            break
        except KeyboardInterrupt:
            killed += 1
            assert [one.command for one in site.state.begun()] == [f"avadm node remove {name}"]
    assert killed >= 3
    assert name not in [n.name for n in load(site.path).site.nodes]
    assert name not in room.kube | room.buckets | room.calico
    assert len(site.applied) == 1
    assert site.state.begun() == []


def test_after_the_site_file_was_written_its_name_alone_continues(site):
    site.failing = AvadmError.of("follow-failed", found="failed")
    with pytest.raises(AvadmError):
        site.remove("stor4")
    assert "stor4" not in site.path.read_text()
    site.failing = None
    operation, refused = site.plan("stor4")
    assert (len(operation.steps), refused) == (1, [])
    site.remove("stor4")
    assert len(site.applied) == 1


def test_it_waits_for_data_that_do_not_move_and_purges_nothing(site, room):
    room.unsafe = {3}
    with pytest.raises(AvadmError) as error:
        site.remove("stor4")
    assert error.value.findings[0].check == "gate-closed"
    assert error.value.exit_code == 1
    assert 3 in room.osds
    assert room.osds[3]["up"]
    room.unsafe = set()
    site.remove("stor4")
    assert 3 not in room.osds


def test_an_osd_that_becomes_unsafe_again_is_not_purged(site, room):
    room.osds[3].update(weight=0, pgs=0)
    operation, _ = site.plan("stor4")
    [purge] = [one for one in operation.steps if one.name.startswith("purge")]
    room.unsafe = {3}
    with pytest.raises(AvadmError) as error:
        purge.act(print)
    assert error.value.findings[0].check == "only-copy"
    assert room.osds[3]["up"]


def test_a_dead_node_is_not_touched_and_all_else_is_done(site, room):
    room.silent.add("stor4")
    room.osds[3].update(up=False, pgs=0)
    site.remove("stor4", dead=True)
    assert 3 not in room.osds
    assert not [node for node, _ in room.stopped if node == "stor4"]
    assert site.state.begun() == []


def test_a_dead_worker_is_forgotten(site, room):
    room.silent.add("comp3")
    site.remove("comp3", dead=True)
    assert "comp3" not in room.kube | room.calico
    assert "drain comp3" not in room.did


def test_a_role_is_taken_and_the_node_stays(site, room):
    room.osds[4] = {"host": "stor4", "up": True, "weight": 1.0, "pgs": 2, "used": 1}
    site.remove("stor2", "mds")
    assert "mds.stor2" not in room.entities
    assert "mgr.stor2" in room.entities
    assert "{name: stor2, address: 10.9.0.12, roles: [mon, mgr, osd]" in site.path.read_text()
    assert [unit for node, unit in room.stopped if node == "stor2"] == ["ceph-mds@stor2"]


def test_what_leaves_is_not_asked_about_the_others(site, room):
    room.mdss = ["stor2", "stor1"]
    site.remove("stor1", "mds")
    assert room.asked_for_ceph == {"stor2"}


def test_devices_go_with_the_role_osd(site):
    site.remove("stor4", "osd", accepted=())
    assert "A4" not in site.path.read_text()
    assert "name: stor4" in site.path.read_text()


def test_a_monitor_that_another_node_replaced_is_removed(site, room):
    text = SITE.replace(
        "stor4, address: 10.9.0.14, roles: [osd]", "stor4, address: 10.9.0.14, roles: [mon, osd]"
    )
    site.path.write_text(
        text.replace(
            "stor3, address: 10.9.0.13, roles: [mon, osd]", "stor3, address: 10.9.0.13, roles: [osd]"
        )
    )
    room.mons.add("stor4")
    room.quorum.add("stor4")
    site.state.found("mon", "stor3", "fsid")
    before = site.path.read_text()
    site.remove("stor3", "mon")
    assert room.mons == {"stor1", "stor2", "stor4"}
    assert site.path.read_text() == before
    assert site.state.bootstrapped("mon") == {}


def test_a_monitor_is_not_removed_from_an_odd_quorum(site):
    assert site.refusals("stor3", "mon") == {"quorum-even"}


def test_the_copies_of_the_state_are_no_longer_kept_there(site, room):
    text = SITE.replace(
        "stor4, address: 10.9.0.14, roles: [osd]", "stor4, address: 10.9.0.14, roles: [mon, osd]"
    )
    site.path.write_text(
        text.replace(
            "stor3, address: 10.9.0.13, roles: [mon, osd]", "stor3, address: 10.9.0.13, roles: [osd]"
        )
    )
    room.mons |= {"stor4"}
    room.quorum |= {"stor4"}
    site.remove("stor3")
    assert "stor3" not in site.state.keepers
    assert LockNodes(load(site.path), room).unknown == []
    assert [c for n, c in room.commands if n == "stor3" and "rm -rf /var/lib/avadm/t" in c] or any(
        one.startswith("stor3:") and "rm -rf /var/lib/avadm/t" in one for one in room.did
    )


# What is refused, and that it is not where there is no reason.


def test_nothing_is_refused_on_a_healthy_site(site):
    assert site.refusals("stor4") == set()
    assert site.refusals("comp3") == set()
    assert site.refusals("stor2", "mds") == set()


@pytest.mark.parametrize(
    ("name", "role", "wanted"),
    [
        ("nowhere", "", "unknown-node"),
        ("mast1", "", "last-of-role"),
        ("comp1", "dns", "last-of-role"),
        ("comp1", "alluxio_master", "role-not-supported"),
        ("comp3", "osd", "role-absent"),
    ],
)
def test_bad_names_and_roles_are_refused(site, name, role, wanted):
    assert wanted in site.refusals(name, role)


def plant(room, **what):
    for name, value in what.items():
        setattr(room, name, value)


@pytest.mark.parametrize(
    ("wanted", "name", "planted"),
    [
        ("copies-few", "stor4", {"size": 4}),
        ("space-short", "stor4", {"kb": 3}),
        ("only-copy", "stor4", {"bad_groups": {"stale+undersized": 1, "active+clean": 3}}),
        ("local-volumes", "comp3", {"volumes": {"pvc-1": "comp3"}}),
        ("pods-local-data", "comp3", {"refused": {"local-data": ["shop/a"]}}),
        ("pods-without-controller", "comp3", {"refused": {"without-controller": ["shop/a"]}}),
        ("node-silent", "comp3", {"silent": {"comp3"}}),
    ],
)
def test_what_would_be_lost_is_refused_and_nothing_is_changed(site, room, wanted, name, planted):
    plant(room, **planted)
    assert site.refusals(name) == {wanted}
    with pytest.raises(AvadmError) as error:
        site.remove(name)
    assert error.value.exit_code == 2
    assert site.path.read_text() == SITE
    assert room.acts == 0


@pytest.fixture
def ava(room, monkeypatch):
    """The platform, with a workbench and a training on comp3."""
    room.ava.on = {"comp3": [ava_run("r1", "workbench"), ava_run("r2")]}
    monkeypatch.setattr(Cluster, "platform", lambda self, administrator="": room.ava)
    for module in (node_runs, drain):
        monkeypatch.setattr(module, "utc", room.ava.utc)
    return room.ava


def removed(site, room, accepted=(), **options):
    """Remove comp3 while time passes as AVA has it."""
    asked = drain.DrainOptions(**options)
    build = lambda cluster: node_remove.build(  # noqa: E731
        cluster, "comp3", accepted=accepted, follow=site.follow, options=asked
    )
    clock = run.Clock(lambda: room.ava.now, room.ava.sleep)
    return run.run(load(site.path), room, build, accepted, site.lines.append, clock=clock)


def test_runs_are_listed_and_leave_before_anything_of_a_worker_is_removed(site, room, ava):
    operation, against = site.plan("comp3")
    assert ([one.run.id for one in operation.runs], against) == (["r1", "r2"], [])
    removed(site, room, notice=Notice(60, True))
    assert ava.now >= 60
    assert ava.log == ["notify comp3", "withdraw comp3"]
    assert "comp3" not in room.kube
    assert site.state.settings() == []


def test_a_removal_whose_runs_do_not_leave_changes_nothing_but_is_half_done(site, room, ava):
    with pytest.raises(AvadmError) as error:
        removed(site, room, notice=Notice(60), timeout=100)
    assert (error.value.exit_code, error.value.findings[0].check) == (1, "gate-closed")
    assert "training-r2 of ann" in error.value.findings[0].found
    assert room.cordons == ["cordon comp3"]
    assert (room.acts, ava.begun, site.state.settings()) == (0, {}, [])
    assert [one.command for one in site.state.begun()] == ["avadm node remove comp3 --notice 60s"]
    removed(site, room, notice=Notice(60, True), timeout=100)
    assert site.state.begun() == []


def test_a_silent_ava_refuses_a_removal_and_may_be_accepted(site, room, ava):
    ava.silent = True
    with pytest.raises(AvadmError) as error:
        removed(site, room)
    assert [one.check for one in error.value.findings] == ["ava-runs"]
    assert (error.value.exit_code, room.acts) == (2, 0)


def test_copies_are_counted_by_rack_where_that_is_the_failure_domain(site, room):
    text = f"{SITE}components: {{ceph: {{failure_domain: rack}}}}\n"
    room.racks = {"stor1": "r1", "stor2": "r2", "stor3": "r2", "stor4": "r3"}
    for name, rack in room.racks.items():
        text = text.replace(f"name: {name},", f"name: {name}, rack: {rack},")
    site.path.write_text(text)
    assert "copies-few" in site.refusals("stor4")
    room.racks["stor3"] = "r3"
    assert "copies-few" not in site.refusals("stor4")


def test_what_moves_makes_the_fullest_fuller(site, room):
    room.kb = 4
    assert site.refusals("stor4") == set()  # 8 of 12 GiB
    room.osds[0]["used"] = 3
    assert site.refusals("stor4") == {"space-short"}  # 3 of 4 GiB becomes 3.9 of 4


def test_scrubbing_and_a_volume_of_another_node_forbid_nothing(site, room):
    plant(room, bad_groups={"active+clean+scrubbing+deep": 4}, volumes={"pvc-1": "comp2", "pvc-2": ""})
    assert site.refusals("stor4") | site.refusals("comp3") == set()


@pytest.mark.parametrize(("role", "name"), [("mds", "mdss"), ("mgr", "mgrs")])
def test_the_last_that_runs_is_refused(site, room, role, name):
    setattr(room, name, ["stor2"])
    assert "last-of-role" in site.refusals("stor2", role)


def test_a_quorum_that_would_be_lost_is_refused(site, room):
    room.quorum = {"stor2", "stor3"}
    assert "quorum-lost" in site.refusals("stor3", "mon")


def test_a_node_that_lives_is_not_dead(site, room):
    assert site.refusals("comp3", dead=True) == {"not-dead"}
    room.silent.add("stor4")
    assert site.refusals("stor4", dead=True) == {"not-dead"}  # its OSD serves


def test_a_node_in_a_maintenance_is_refused(site):
    site.state.drop_operation("", {"maintenance comp3": {"nodes": ["comp3"]}})
    assert site.refusals("comp3") == {"node-in-maintenance"}
    assert site.refusals("stor4") == set()


def test_volumes_that_are_given_up_are_forgotten(site, room):
    room.volumes = {"pvc-1": "comp3", "pvc-2": "comp2"}
    site.remove("comp3", accepted=("local-volumes",))
    assert room.volumes == {"pvc-2": "comp2"}


def test_what_cannot_be_accepted_is_not(site, room):
    room.size = 4
    with pytest.raises(AvadmError) as error:
        site.remove("stor4", accepted=("copies-few",))
    assert error.value.findings[0].check == "accept-unknown"


def test_a_half_done_removal_blocks_apply_on_its_components(site):
    site.failing = AvadmError.of("follow-failed", found="failed")
    with pytest.raises(AvadmError):
        site.remove("stor4")
    [begun] = site.state.begun()
    assert "ceph" in begun.components
    assert "masters" not in begun.components


def test_the_plan_is_json(site):
    operation, _ = site.plan("stor4")
    found = json.loads(json.dumps(operation.as_dict()))
    touched = {node for step in found["steps"][:-1] for node in step["nodes"]}
    assert touched == {"stor4"}
    assert found["steps"][0]["gate"]
    assert "stor4" not in found["steps"][-1]["nodes"]


def test_timers_the_clock_and_keys_of_osds_do_not_stay(site, room, monkeypatch):
    sent, answers = [], room.run
    monkeypatch.setattr(
        room,
        "run",
        lambda node, command, **more: sent.append((node, command)) or answers(node, command, **more),
    )
    site.remove("stor4")
    commands = " ".join(command for node, command in sent if node == "stor4")
    assert ("stor4", "chrony") in room.stopped
    assert "'avadm-*.timer'" in commands
    assert "/var/lib/ceph/osd" in commands and "-name osd_key" in commands


PACKAGED = {"docker.socket", "ceph-crash"}
"""Units that packages start by themselves."""


@pytest.mark.parametrize("unit", sorted({*removal_host.UNITS, *removal_kubernetes.UNITS} - PACKAGED))
def test_what_is_stopped_is_what_roles_start(unit):
    roles = Path(__file__).parents[3] / "roles"
    texts = [path.read_text() for kind in ("tasks", "defaults") for path in roles.glob(f"*/{kind}/*.yml")]
    assert any(re.search(rf"(name|_service): {re.escape(unit)}$", text, re.MULTILINE) for text in texts)


@pytest.mark.parametrize("name", ["stor4", "comp3"])
def test_a_kill_at_each_step_boundary_loses_nothing(site, room, monkeypatch, name):
    begun = []

    class Lines(list):
        def append(self, line):
            super().append(line)
            if line.startswith("[") and "done already" not in line and len(begun) < 20:
                step = line.partition("] ")[2]
                if step not in begun:
                    begun.append(step)
                    raise KeyboardInterrupt

    site.lines = Lines()
    for _ in range(20):
        try:
            site.remove(name)
            break
        except KeyboardInterrupt:
            continue
    assert len(begun) >= 6
    assert site.state.begun() == []
    assert name not in [n.name for n in load(site.path).site.nodes]
    assert len(site.applied) == 1
