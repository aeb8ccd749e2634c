"""`avadm node replace`: another node or the same one reinstalled takes the place; no quorum and no copy is lost meanwhile."""

import json

import pytest

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.operations import node_add, node_replace, run
from avadm.operations.node_replace import Replacement
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.fakes.nodes import answer, called
from tests.unit.operations.service_room import SITE, Services
from tests.unit.operations.test_node_add import disk

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
STORAGE = Replacement("stor3", "stor9", "10.9.0.19", serials=("S1",))
MASTER = Replacement("mast1", "mast9", "10.9.0.39")
WORKER = Replacement("comp1", "comp9", "10.9.0.29")
IMAGES = ("local-images",)


class Machines(Services):
    """The room with machines beside it, and the nodes of the site that are reinstalled."""

    def __init__(self, root):
        super().__init__(root)
        self.strangers, self.joined, self.disks = {"stor9", "mast9", "comp9"}, set(), [disk("S1")]
        self.blank, self.destroyed, self.mesh = set(), set(), 2

    def join(self, targets):
        self.joined |= {target.node for target in targets}

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node.endswith("9"):
            assert node in self.joined, "asked before it was joined"
        if node in self.strangers:
            return answer(node, command, rc=255, error="no key")
        if stdin is not None and called(stdin) == "disks.report.every":
            return answer(node, command, json.dumps(self.disks))
        if command == node_replace.BLANK:
            return answer(node, command, rc=int(node not in self.blank))
        return super().run(node, command, timeout=timeout, stdin=stdin)

    def ceph_osd_dump(self):
        osds = [
            {"osd": n, "up": int(one["up"]), "in": 1, "uuid": "u", "state": self.state_of(n)}
            for n, one in self.osds.items()
        ]
        return {
            "fsid": "f",
            "osds": osds,
            "pools": [{"size": self.size}],
            "nearfull_ratio": 0.85,
        }

    def state_of(self, n):
        return ["exists", "destroyed"] if n in self.destroyed else ["exists"]

    def ceph_osd_tree(self):
        return self.tree()

    def ceph_osd_destroy(self, name, sure):
        self.act(f"osd destroy {name}")
        assert not self.osds[int(name.removeprefix("osd."))]["up"]
        self.destroyed.add(int(name.removeprefix("osd.")))


class Site:
    def __init__(self, folder, room):
        self.path, self.room, self.applied, self.lines = folder / "site.yml", room, [], []
        self.path.write_text(SITE)
        self.known = folder / "known_hosts"
        self.known.write_text(f"10.9.0.13,stor3 ssh-ed25519 {KEY}\n10.9.0.14 ssh-ed25519 {KEY}\n")
        self.unfit, self.pinned, self.owned, self.failing = [], [], [], None

    def let_in(self, site_file):
        self.pinned.append("stor3" in self.known.read_text())
        self.room.strangers -= {n.name for n in site_file.site.nodes}
        self.room.silent -= self.room.blank

    def follow(self, site_file, tell, without=(), own=None):
        """Install what the site file has, as the roles would."""
        room, site = self.room, site_file.site
        room.act("apply")
        if self.failing:
            raise self.failing
        self.applied.append(([n.name for n in site.nodes], tuple(without)))
        self.owned += [own] if own else []
        for node in site.nodes:
            if node.name in without or node.name in room.silent:
                continue
            if "mon" in node.roles:
                room.mons.add(node.name)
                room.quorum.add(node.name)
            if "etcd" in node.roles and node.name not in room.members:
                assert not room.etcd_down & set(room.members), "a member was added while another was down"
                room.members[node.name] = 0xC0 + len(room.members)
            if "master" in node.roles:
                room.apis.add(node.name)
                room.endpoints.add(node.name)
            if "database" in node.roles:
                room.patroni.setdefault(node.name, "Replica")
                room.follow_up()
            for role, names in (("mds", room.mdss), ("mgr", room.mgrs)):
                if role in node.roles and node.name not in names:
                    names.append(node.name)
                    room.entities.add(f"{role}.{node.name}")
            if {"master", "worker"} & set(node.roles):
                room.kube.add(node.name)
                room.calico.add(node.name)
            if "osd" in node.roles and node.name not in room.buckets:
                number = max(room.osds) + 1
                room.osds[number] = {"host": node.name, "up": True, "weight": 1.0, "pgs": 1, "used": 1}
                room.buckets.add(node.name)
            for number in room.destroyed & {n for n, o in room.osds.items() if o["host"] == node.name}:
                if own and number in own[node.name].get("ceph_osd_reused_ids", {}).values():
                    room.destroyed.discard(number)
                    room.osds[number]["up"] = True

    def build(self, wanted, accepted=()):
        return lambda cluster: node_replace.build(
            cluster, wanted, self.let_in, accepted, self.follow, self.room.bring
        )

    def plan(self, wanted, accepted=()):
        operation = run.plan(load(self.path), self.room, self.build(wanted, accepted))
        return operation, {one.check for one in run.refused(operation, accepted)}

    def replace(self, wanted, accepted=()):
        clock = Clock()
        timed = run.Clock(clock, clock.sleep)
        return run.run(
            load(self.path), self.room, self.build(wanted, accepted), accepted, self.lines.append, clock=timed
        )

    def change(self, old, new):
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new))

    @property
    def state(self):
        return SiteState.of(self.path, "t")

    def names(self, role):
        return [n.name for n in load(self.path).site.with_role(role)]


@pytest.fixture
def room(tmp_path):
    return Machines(tmp_path / "nodes")


@pytest.fixture
def site(tmp_path, room, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    made = Site(tmp_path, room)
    monkeypatch.setattr(node_add, "collect", lambda *_: None)
    monkeypatch.setattr(node_add, "run_checks", lambda context, checks: {"kernel": made.unfit})
    return made


# By another node.


def test_a_storage_node_is_replaced_and_data_move_only_when_the_new_one_serves(site, room):
    site.replace(STORAGE)
    assert room.mons == {"stor1", "stor2", "stor9"}
    assert {o["host"] for o in room.osds.values()} == {"stor1", "stor2", "stor4", "stor9"}
    assert room.buckets == {"stor1", "stor2", "stor4", "stor9"}
    order = [one for one in room.did if one.startswith(("mon ", "osd ", "apply"))]
    assert order == [
        "mon remove stor3",
        "apply",
        "osd crush reweight osd.2 0",
        "osd down 2",
        "osd purge 2",
        "osd crush rm stor3",
        "apply",
    ]
    text = site.path.read_text()
    assert "stor3" not in text
    assert [d.serial for d in load(site.path).site.node("stor9").devices] == ["S1"]
    assert site.state.begun() == []


def test_a_master_is_replaced_member_by_member(site, room):
    site.replace(MASTER, IMAGES)
    assert set(room.members) == {"mast2", "mast3", "mast9"}
    assert room.apis == {"mast2", "mast3", "mast9"}
    assert "mast1" not in room.kube | room.calico
    assert site.names("etcd") == ["mast2", "mast3", "mast9"]
    assert site.names("dns") == ["mast2", "mast9"]
    # Others stop asking it for names while it still answers.
    assert room.did.index("etcd member remove mast1") < room.did.index("apply")
    assert "mast1" not in site.path.read_text()


def test_a_primary_is_replaced_after_the_new_standby_runs(site, room):
    site.replace(WORKER)
    assert "comp1" not in room.patroni
    assert set(room.patroni) == {"comp2", "comp3", "comp9"}
    assert next(n for n, role in room.patroni.items() if role == "Leader") == "comp2"
    assert room.did.index("apply") < room.did.index("switchover to comp2")
    assert site.names("prometheus") == ["comp2", "comp9"]
    assert "comp1" not in room.kube


def test_what_the_site_file_names_elsewhere_names_the_new_node(site):
    site.change("stores: [stor1, comp3]", "stores: [stor3, comp3]")
    site.replace(STORAGE)
    assert load(site.path).site.components.logs.stores == ["stor9", "comp3"]


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [
        (STORAGE, ()),
        pytest.param(MASTER, IMAGES, marks=pytest.mark.slow),
        pytest.param(WORKER, (), marks=pytest.mark.slow),
    ],
)
def test_it_continues_wherever_it_was_killed(site, room, wanted, accepted):
    killed = 0
    for acts in range(90):
        room.killed_after, room.acts = acts, 0
        try:
            site.replace(wanted, accepted)
            break
        except KeyboardInterrupt:
            killed += 1
            assert [one.command for one in site.state.begun()] == [node_replace.command(wanted, accepted)]
    assert killed >= 5
    assert site.state.begun() == []
    names = [n.name for n in load(site.path).site.nodes]
    assert wanted.new in names
    assert wanted.name not in names
    assert wanted.name not in room.mons | room.kube | set(room.members) | set(room.patroni) | room.buckets


@pytest.mark.slow
def test_a_kill_at_each_step_boundary_loses_nothing(site, room):
    begun = []

    class Lines(list):
        def append(self, line):
            super().append(line)
            if line.startswith("[") and "done already" not in line:
                step = line.partition("] ")[2]
                if step not in begun:
                    begun.append(step)
                    raise KeyboardInterrupt

    site.lines = Lines()
    for _ in range(60):
        try:
            site.replace(STORAGE)
            break
        except KeyboardInterrupt:
            continue
    assert len(begun) >= 12
    assert site.state.begun() == []
    assert "stor3" not in site.path.read_text()
    assert room.mons == {"stor1", "stor2", "stor9"}


def test_a_new_node_that_is_not_fit_leaves_the_old_one_alone(site, room):
    site.unfit = [finding("node-script", found="kernel 4", host="stor9")]
    with pytest.raises(AvadmError):
        site.replace(STORAGE)
    assert room.acts == 0
    assert site.path.read_text() == SITE


def test_a_new_node_whose_osds_do_not_come_holds_the_removal(site, room, monkeypatch):
    monkeypatch.setattr(node_replace, "READY_S", 60.0)
    room.size = 4
    held = site.follow

    def without_osds(site_file, tell, without=(), own=None):
        held(site_file, tell, without, own)
        room.osds.pop(4, None)

    site.follow = without_osds
    with pytest.raises(AvadmError) as error:
        site.replace(STORAGE)
    assert error.value.findings[0].check == "gate-closed"
    assert error.value.exit_code == 1
    assert 2 in room.osds
    assert room.osds[2]["weight"] == 1.0
    site.follow = held
    room.buckets.discard("stor9")
    site.replace(STORAGE)
    assert 2 not in room.osds


def test_a_dead_node_is_replaced_and_never_touched(site, room):
    room.silent.add("stor3")
    room.osds[2].update(up=False, pgs=0)
    room.quorum.discard("stor3")
    site.replace(Replacement("stor3", "stor9", "10.9.0.19", serials=("S1",), dead=True))
    assert not [one for one in room.did if one.startswith("stor3: ")]
    assert [without for _, without in site.applied] == [("stor3",), ()]
    assert room.mons == {"stor1", "stor2", "stor9"}
    assert 2 not in room.osds


def test_a_dead_member_of_etcd_leaves_before_the_new_one_joins(site, room):
    room.silent.add("mast1")
    room.etcd_down.add("mast1")
    room.leads = "mast2"
    room.apis.discard("mast1")
    room.endpoints.discard("mast1")
    site.replace(Replacement("mast1", "mast9", "10.9.0.39", dead=True), IMAGES)
    assert set(room.members) == {"mast2", "mast3", "mast9"}


@pytest.mark.parametrize(
    ("wanted", "planted", "refused"),
    [
        (Replacement("nowhere", "stor9", "10.9.0.19"), {}, "unknown-node"),
        (Replacement("stor3", "stor4", "10.9.0.19"), {}, "node-known"),
        (Replacement("stor3", "stor9", "10.8.0.19", serials=("S1",)), {}, "address-outside"),
        (Replacement("stor3", "stor9", "10.9.0.11", serials=("S1",)), {}, "duplicate-address"),
        (Replacement("stor3", "stor9", "10.9.0.19"), {}, "osd-without-disks"),
        (Replacement("comp3", "comp9", "10.9.0.29", serials=("S1",)), {}, "disks-without-osd"),
        (STORAGE, {"silent": {"stor3"}}, "node-silent"),
        (Replacement("comp3", "comp9", "10.9.0.29", dead=True), {}, "not-dead"),
        (STORAGE, {"quorum": {"stor1", "stor3"}}, "quorum-lost"),
        (STORAGE, {"bad_groups": {"down": 1}}, "only-copy"),
        (MASTER, {"etcd_down": {"mast3"}}, "etcd-quorum-lost"),
        (MASTER, {"apis": {"mast1"}}, "last-of-role"),
        (Replacement("mast1"), {}, "node-not-reinstalled"),
        (Replacement("mast1", "", "10.9.0.39"), {"blank": {"mast1"}}, "replace-address"),
        (Replacement("nowhere"), {}, "unknown-node"),
    ],
)
def test_what_would_be_lost_or_is_wrong_is_refused_and_changes_nothing(site, room, wanted, planted, refused):
    for key, value in planted.items():
        setattr(room, key, value)
    assert refused in site.plan(wanted)[1]
    with pytest.raises(AvadmError) as error:
        site.replace(wanted)
    assert error.value.exit_code == 2
    assert room.acts == 0
    assert site.path.read_text() == SITE


def test_what_the_new_node_cures_is_not_refused(site, room):
    room.size = 4  # three hosts would be too few for four copies
    assert site.plan(STORAGE)[1] == set()


def test_a_healthy_site_refuses_nothing(site):
    for wanted in (STORAGE, WORKER):
        assert site.plan(wanted)[1] == set()


def test_images_on_its_own_disk_are_given_up_only_by_name(site, room):
    assert site.plan(MASTER)[1] == {"local-images"}
    assert site.plan(MASTER, IMAGES)[1] == set()


# By the same node, reinstalled.


def reinstalled(room, name="stor3"):
    room.blank.add(name)
    room.silent.add(name)
    room.quorum.discard(name)
    room.etcd_down |= {name} & set(room.members)
    for one in room.osds.values():
        if one["host"] == name:
            one.update(up=False)


def test_a_reinstalled_node_keeps_its_place_and_has_a_new_monitor(site, room):
    reinstalled(room)
    site.replace(Replacement("stor3", serials=("S1",)))
    assert site.pinned == [False], "its former host key was still pinned"
    assert room.did[:2] == ["mon remove stor3", "osd destroy osd.2"]
    assert "stor3" in room.buckets
    assert room.osds[2]["up"]
    [own] = site.owned
    assert own["stor3"]["ceph_osd_reused_ids"] == {"S1": 2}
    assert own["stor3"]["ceph_mon_replace"] is True
    assert room.mons == room.quorum == {"stor1", "stor2", "stor3"}
    assert [d.serial for d in load(site.path).site.node("stor3").devices] == ["S1"]
    assert site.state.begun() == []


def test_a_reinstalled_node_whose_disks_are_whole_gives_nothing_up(site, room):
    reinstalled(room)
    held = site.follow

    def activating(site_file, tell, without=(), own=None):
        held(site_file, tell, without, own)
        room.osds[2]["up"] = True

    site.follow = activating
    site.replace(Replacement("stor3"))
    assert not [one for one in room.did if one.startswith("osd ")]
    assert "ceph_osd_reused_ids" not in site.owned[0]["stor3"]


def test_a_reinstalled_member_of_etcd_is_a_new_one(site, room):
    reinstalled(room, "mast2")
    former = room.members["mast2"]
    held = site.follow

    def joining(site_file, tell, without=(), own=None):
        room.etcd_down.discard("mast2")
        held(site_file, tell, without, own)

    site.follow = joining
    site.replace(Replacement("mast2"))
    assert room.members["mast2"] != former
    assert site.owned[0]["mast2"]["etcd_replace"] is True


def test_osds_that_may_have_the_only_copy_are_not_destroyed(site, room):
    reinstalled(room)
    room.bad_groups = {"down": 1}
    assert "only-copy" in site.plan(Replacement("stor3", serials=("S1",)))[1]


def test_a_reinstallation_continues_wherever_it_was_killed(site, room):
    reinstalled(room)
    wanted = Replacement("stor3", serials=("S1",))
    killed = 0
    for acts in range(40):
        room.killed_after, room.acts = acts, 0
        try:
            site.replace(wanted)
            break
        except KeyboardInterrupt:
            killed += 1
    assert killed >= 3
    assert room.osds[2]["up"]
    assert room.destroyed == set()
    assert room.mons == {"stor1", "stor2", "stor3"}
    assert site.state.begun() == []


def test_the_plan_is_json_and_names_each_node_that_is_touched(site):
    operation, _ = site.plan(STORAGE)
    found = json.loads(json.dumps(operation.as_dict()))
    assert {"stor3", "stor9"} <= set(found["nodes"])
    assert any(step["gate"] and "no data depend on osd.2" in step["gate"] for step in found["steps"])
