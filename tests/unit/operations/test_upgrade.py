"""`avadm upgrade`: planned from what nodes run, refused early, one node after another, continued where it was killed."""

from dataclasses import dataclass, field, replace

import pytest

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.settings import Settings
from avadm.components.catalog import UPGRADES
from avadm.errors import AvadmError
from avadm.operations import run as framework
from avadm.operations import site_change
from avadm.operations import upgrade as module
from avadm.operations.model import Interruption, Step
from avadm.operations.upgrade_model import Part
from avadm.site import profile as profiles
from avadm.site.load import load
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.clock import Clock

NEWER = "lab-bookworm-newer"
SITE = """
name: t
profile: lab-bookworm # the lab's
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250}
nodes:
  - {name: m1, address: 10.0.0.1, roles: [mon, mgr, osd, mds, master, etcd], devices: [{serial: A1}]}
  - {name: m2, address: 10.0.0.2, roles: [mon, osd, master, etcd], devices: [{serial: A2}]}
  - {name: m3, address: 10.0.0.3, roles: [mon, osd, mds, master, etcd], devices: [{serial: A3}]}
  - {name: w1, address: 10.0.0.4, roles: [worker, prometheus, alertmanager, dns]}
  - {name: w2, address: 10.0.0.5, roles: [worker, prometheus, alertmanager]}
"""
OLD = {"etcd": "3.4.23", "prometheus": "2.42.0", "alertmanager": "0.25.0"}
PATCH = {
    "3.4.*": "3.4.23",
    "3.5.*": "3.5.16",
    "2.42.*": "2.42.0",
    "2.53.*": "2.53.3",
    "0.25.*": "0.25.0",
    "0.28.*": "0.28.1",
}


@dataclass
class Etcd:
    """Members that lead, hand over and take snapshots."""

    room: "Room"
    leads: str = "m1"
    snapshots: list = field(default_factory=list)

    def leader(self):
        return self.leads

    def hand_over(self, node):
        if node != self.leads:
            return ""
        self.leads = next(n for n in ("m1", "m2", "m3") if n != node)
        return self.leads

    def snapshot(self):
        assert not self.room.brought, "before anything changes"
        self.snapshots.append(self.room.cluster.state.begun()[0].started)
        return "m1"

    def has_snapshot(self, since):
        return since in self.snapshots


class Room:
    """Nodes on which versions run; an upgrade of one changes them."""

    def __init__(self, path):
        self.site_file = load(path)
        self.cluster = Cluster(self.site_file, None, SiteState.of(path, "t"))
        nodes = {name: [n.name for n in self.of(one)] for name, (_, one) in UPGRADES.items() if name in OLD}
        self.versions = {(n, name): OLD[name] for name, names in nodes.items() for n in names}
        self.etcd, self.sick, self.brought, self.lines = Etcd(self), {}, [], []
        self.fails, self.unwell_after, self.killed_at = set(), {}, ""

    def of(self, one):
        return self.site_file.site.with_role(one.duty)

    def running(self, one, nodes):
        return {n.name: self.versions[n.name, one.name] for n in nodes}

    def installed(self, nodes, packages):
        return {n.name: dict.fromkeys(packages, "3.4.23-4") for n in nodes}

    def settled(self, one, node):
        phase = UPGRADES[one.name][0].name
        return self.cluster.state.entry(phase, node).state is PhaseState.DONE

    def troubles(self, one):
        return dict(self.sick)

    def bring(self, site_file, one, node, moves, command, tell):
        phase, state = UPGRADES[one.name][0].name, self.cluster.state
        state.start(phase, {node: "d"}, "r")
        [pattern] = set(moves.values())
        assert pattern == f"{site_file.profile.versions[one.name]}*"
        self.brought.append((one.name, node, PATCH[pattern]))
        if self.killed_at == node:
            self.killed_at = ""
            self.versions[node, one.name] = ""
            raise KeyboardInterrupt
        self.versions[node, one.name] = PATCH[pattern]
        if (node, PATCH[pattern]) in self.fails:
            state.finish(phase, {node: PhaseState.FAILED})
            raise AvadmError(finding("upgrade-failed", host=node))
        state.finish(phase, {node: PhaseState.DONE})
        self.sick = self.unwell_after.get((node, PATCH[pattern]), {})

    def plan(self, *components, to=NEWER):
        return module.build(components, to, lambda cluster: self)(self.cluster)

    def codes(self, *components, to=NEWER):
        return [f.check for f in self.plan(*components, to=to).refusals]

    def run(self, *components, to=NEWER):
        operation = self.plan(*components, to=to)
        assert operation.refusals == []
        clock = Clock()
        settings = Settings(self.cluster, self.lines.append)
        framework._recorded(
            self.cluster, operation, settings, self.lines.append, framework.Clock(clock, clock.sleep)
        )
        return operation

    def reload(self):
        """As the next command sees the site."""
        self.site_file = load(self.site_file.path)
        self.cluster = Cluster(self.site_file, None, SiteState.of(self.site_file.path, "t"))
        self.lines = []


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    return Room(tmp_path / "site.yml")


def test_the_plan_says_what_changes_where_and_that_etcd_cannot_go_back(room):
    plan = room.plan("etcd")
    assert plan.command == f"avadm upgrade etcd --to {NEWER}"
    assert plan.refusals == [] and plan.components == {"etcd"}
    assert plan.nodes == ["m2", "m3", "m1"], "the leader last"
    assert "m2: etcd-server 3.4.23-4 → 3.5.*" in plan.packages
    assert len(plan.packages) == 6
    upgrades = [s for s in plan.steps if s.name.startswith("upgrade")]
    assert len(upgrades) == 3 and all(s.name.endswith("no rollback") and s.undo is None for s in upgrades)
    assert room.brought == []


def test_nothing_is_planned_for_nodes_without_the_component(room):
    assert set(room.plan("prometheus").nodes) == {"w1", "w2"}
    assert room.plan("prometheus").components == {"monitoring"}


def test_etcd_is_upgraded_after_a_snapshot_followers_first(room):
    room.run("etcd")
    assert len(room.etcd.snapshots) == 1
    assert room.brought == [("etcd", n, "3.5.16") for n in ("m2", "m3", "m1")]
    assert room.etcd.leads == "m2", "it was handed over first"
    assert room.cluster.state.begun() == []


def test_the_site_file_names_the_component_until_all_have_the_profile(room):
    room.run("etcd")
    text = room.site_file.path.read_text()
    assert "profile: lab-bookworm # the lab's" in text
    room.reload()
    assert room.site_file.site.component_profiles == {"etcd": NEWER}
    assert room.site_file.profile.versions["etcd"] == "3.5."
    room.run("prometheus", "alertmanager")
    room.reload()
    assert (room.site_file.site.profile, room.site_file.site.component_profiles) == (NEWER, {})
    assert room.site_file.profile == profiles.load(NEWER)


def test_without_names_all_that_differ_are_upgraded(room):
    room.run()
    room.reload()
    assert room.site_file.site.profile == NEWER
    assert {name for name, _, _ in room.brought} == set(OLD)


def test_a_second_run_changes_nothing(room):
    room.run("etcd")
    room.reload()
    before, room.brought = room.site_file.path.read_text(), []
    room.run("etcd")
    assert (room.brought, room.site_file.path.read_text()) == ([], before)


def test_a_failed_node_gets_its_former_version_back_and_the_rest_stays(room):
    room.fails.add(("w1", "2.53.3"))
    with pytest.raises(AvadmError) as error:
        room.run("prometheus")
    assert [f.check for f in error.value.findings] == ["upgrade-failed"]
    assert room.versions["w1", "prometheus"] == room.versions["w2", "prometheus"] == "2.42.0"
    assert [n for _, n, _ in room.brought] == ["w1", "w1"]
    room.fails.clear()
    room.reload()
    room.run("prometheus")
    assert room.versions["w2", "prometheus"] == "2.53.3"


def test_a_node_that_is_not_well_afterwards_is_taken_back_and_no_other_is_touched(room):
    room.unwell_after["w1", "0.28.1"] = {"w1": "its mesh has 1 of 2 members"}
    with pytest.raises(AvadmError) as error:
        room.run("alertmanager")
    assert [f.check for f in error.value.findings] == ["gate-closed"]
    assert room.versions["w1", "alertmanager"] == "0.25.0"


def test_a_failed_member_of_etcd_is_not_taken_back(room):
    room.fails.add(("m2", "3.5.16"))
    with pytest.raises(AvadmError):
        room.run("etcd")
    assert room.versions["m2", "etcd"] == "3.5.16"
    assert [n for _, n, _ in room.brought] == ["m2"]


@pytest.mark.parametrize("node", ["m2", "m3", "m1"])
def test_a_killed_upgrade_is_continued_by_the_same_command(room, node):
    room.killed_at = node
    with pytest.raises(KeyboardInterrupt):
        room.run("etcd")
    done = [n for _, n, _ in room.brought if n != node]
    room.reload()
    room.sick = {node: "its member does not answer"}
    room.brought = [("", "", "")] if done else []
    # The one that was at work may be down; the plan is made all the same.
    assert room.codes("etcd") == []
    room.run("etcd")
    assert len(room.etcd.snapshots) == 1
    assert not {n for _, n, _ in room.brought} & set(done)
    assert {v for (_, c), v in room.versions.items() if c == "etcd"} == {"3.5.16"}


def test_it_is_killed_before_the_site_file_is_written(room, monkeypatch):
    def killed(path, text):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(site_change.edit, "write", killed)
        room.run("etcd")
    room.reload()
    room.brought.clear()
    room.run("etcd")
    room.reload()
    assert room.site_file.site.component_profiles == {"etcd": NEWER}
    assert room.brought == []


def test_a_site_file_that_changed_meanwhile_is_not_written_over(room):
    operation = room.plan("etcd")
    path = room.site_file.path
    path.write_text(SITE.replace("profile: lab-bookworm #", "profile: lab-bookworm-newer #"))
    with pytest.raises(AvadmError) as error:
        operation.steps[-1].act(room.lines.append)
    assert [f.check for f in error.value.findings] == ["upgrade-site-changed"]
    assert "component_profiles" not in path.read_text()


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("3.4.23", []),
        ("3.6.4", ["upgrade-downgrade"]),
        ("3.3.25", ["upgrade-skips-release"]),
        ("2.3.8", ["upgrade-skips-release"]),
    ],
)
def test_steps_that_upstream_does_not_support_are_refused(room, version, codes):
    for node in ("m1", "m2", "m3"):
        room.versions[node, "etcd"] = version
    assert room.codes("etcd") == codes


def test_prometheus_may_pass_over_minor_releases(room):
    assert room.codes("prometheus") == []
    for node in ("w1", "w2"):
        room.versions[node, "prometheus"] = "1.8.2"
    assert room.codes("prometheus") == ["upgrade-skips-release"]


@pytest.mark.parametrize("other", ["3.5.16", "3.3.1"])
def test_mixed_versions_without_a_half_done_upgrade_are_refused(room, other):
    room.versions["m3", "etcd"] = other
    assert "upgrade-mixed-versions" in room.codes("etcd")


def test_a_node_that_does_not_answer_and_one_that_is_not_well_are_refused_in_one_pass(room):
    room.versions["m3", "etcd"] = ""
    room.sick = {"m2": "it knows no leader"}
    assert sorted(room.codes("etcd")) == ["upgrade-unhealthy", "upgrade-version-unknown"]
    assert room.plan("etcd").acceptable == frozenset()


def test_unknown_names_are_refused_together_and_repeated_ones_count_once(room):
    assert sorted(room.codes("etdc", to="lab-nowhere")) == ["component-not-supported", "unknown-profile"]
    assert room.codes("haproxy") == ["component-not-supported"]
    assert room.plan("etcd", "etcd").command == f"avadm upgrade etcd --to {NEWER}"


def test_a_component_that_the_site_has_not_is_refused(room):
    room.of = lambda one: []
    assert room.codes("alertmanager") == ["upgrade-no-node"]


def test_a_profile_of_another_system_is_refused(room):
    found = [
        f.found for f in room.plan("etcd", to="lab-bullseye").refusals if f.check == "upgrade-profile-differs"
    ]
    assert {"os", "glibc", "python"} <= set(found)


def test_components_that_the_verb_does_not_know_are_named(room, tmp_path):
    (tmp_path / "ours.yml").write_text("inherits: lab-bookworm\nversions: {docker: '26.1.', etcd: '3.5.'}\n")
    plan = room.plan(to="./ours.yml")
    assert [(f.check, f.found) for f in plan.refusals] == [("component-not-supported", "docker")]
    assert room.codes("etcd", to="./ours.yml") == []


def test_another_command_is_refused_while_one_is_half_done(room):
    room.killed_at = "m2"
    with pytest.raises(KeyboardInterrupt):
        room.run("etcd")
    blocked = framework.half_done(room.cluster.state, {"etcd"}, "avadm upgrade --to lab-bookworm-newer")
    assert [f.check for f in blocked] == ["operation-half-done"]


def test_nodes_are_not_touched_while_the_others_are_not_well(room):
    operation = room.plan("etcd")
    room.sick = {"m3": "its member does not answer"}
    step = next(s for s in operation.steps if " m2 " in s.name)
    with pytest.raises(AvadmError) as error:
        step.act(room.lines.append)
    assert [f.check for f in error.value.findings] == ["upgrade-unhealthy"]
    assert room.brought == []


def test_the_versions_check_accepts_a_site_between_two_profiles(room):
    file = room.site_file
    one = UPGRADES["etcd"][1]
    newer = file.profile.with_component(one.programs, one.roles, profiles.load(NEWER))
    between = replace(file, profile=newer)
    assert (between.profile.versions["etcd"], between.profile.versions["prometheus"]) == ("3.5.", "2.42.")


def test_a_component_brings_steps_of_its_own_and_is_refused_in_the_same_pass(room):
    seen = []

    def planner(asked):
        seen.append(asked)
        step = Step("upgrade it in its own way", lambda tell: None, nodes=("w1",))
        interrupt, bad = Interruption("it", 5.0), finding("upgrade-unhealthy", where="w1", name="it")
        return Part([step], frozenset({"nodes"}), [interrupt], ["w1: a 1 → 2"], [bad], frozenset({bad.check}))

    build = module.build(["prometheus", "etcd"], NEWER, lambda cluster: room, {"prometheus": planner})
    room.sick = {"m2": "it knows no leader"}
    plan = build(room.cluster)
    [asked] = seen
    assert (asked.one.name, asked.wanted, asked.resumed) == ("prometheus", "2.53.", False)
    assert asked.before.profile.versions["prometheus"] == "2.42."
    assert asked.after.profile.versions["prometheus"] == "2.53."
    assert "upgrade it in its own way" in [s.name for s in plan.steps]
    assert plan.steps[-1].name.startswith("write component_profiles: etcd:"), "one for all"
    assert plan.components == {"etcd", "monitoring", "nodes"}
    assert [f.check for f in plan.refusals] == ["upgrade-unhealthy"] * 2
    assert plan.acceptable == {"upgrade-unhealthy"}
    assert "w1: a 1 → 2" in plan.packages and Interruption("it", 5.0) in plan.interrupts


def test_a_component_whose_cluster_cannot_be_asked_is_refused(room):
    def planner(asked):
        raise AvadmError.of("ceph-command", found="no route", words="status")

    plan = module.build(["prometheus"], NEWER, lambda cluster: room, {"prometheus": planner})(room.cluster)
    assert [f.check for f in plan.refusals] == ["ceph-command"] and plan.steps == []
