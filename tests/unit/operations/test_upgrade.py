"""`avadm upgrade`: planned from what nodes run, refused early, one node after another, continued where it was killed."""

from dataclasses import dataclass, field, replace

import pytest

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import Cordon
from avadm.cluster.settings import Settings
from avadm.components.catalog import UPGRADES, duties
from avadm.errors import AvadmError
from avadm.kube.node_runs import Notice
from avadm.operations import run as framework
from avadm.operations import site_change
from avadm.operations import upgrade as module
from avadm.operations.drain import DrainOptions, DrainPart
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
  - {name: w1, address: 10.0.0.4, roles: [worker, prometheus, alertmanager, dns, database]}
  - {name: w2, address: 10.0.0.5, roles: [worker, prometheus, alertmanager, database]}
components: {database: {vip: 10.0.0.251}}
"""
OLD = {
    "etcd": "3.4.23",
    "prometheus": "2.42.0",
    "alertmanager": "0.25.0",
    "postgresql": "15.18",
    "patroni": "3.0.2",
    "docker": "20.10.24+dfsg1",
    "haproxy": "2.6.12-1+deb12u3",
}
PROGRAM = {
    "etcd-server": "etcd",
    "etcd-client": "etcd",
    "prometheus-alertmanager": "alertmanager",
    "postgresql-15": "postgresql",
    "docker.io": "docker",
    "docker-cli": "docker",
}
"""Package to its program, where that has another name."""
PATCH = {
    "3.4.*": "3.4.23",
    "3.5.*": "3.5.16",
    "2.42.*": "2.42.0",
    "2.53.*": "2.53.3",
    "0.25.*": "0.25.0",
    "0.28.*": "0.28.1",
    "15.20*": "15.20",
    "4.0.*": "4.0.7",
    "26.1.*": "26.1.5",
    "2.6.12-1+deb12u4*": "2.6.12-1+deb12u4",
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
        assert "etcd" not in {name for name, _, _ in self.room.brought}, "before anything changes"
        self.snapshots.append(self.room.cluster.state.begun()[0].started)
        return "m1"

    def has_snapshot(self, since):
        return since in self.snapshots


class Room:
    """Nodes on which versions run; an upgrade of one changes them."""

    def __init__(self, path):
        self.site_file = load(path)
        self.cluster = Cluster(self.site_file, None, SiteState.of(path, "t"))
        self.versions = {
            (n.name, program): OLD[program]
            for _, one in UPGRADES.values()
            for program in one.programs
            for n in self.of(one)
            if program in OLD
        }
        self.etcd, self.sick, self.brought, self.lines = Etcd(self), {}, [], []
        self.fails, self.unwell_after, self.killed_at = set(), {}, ""
        self.moves, self.prepared, self.refused, self.drained, self.kept = [], [], [], False, ""

    def of(self, one):
        return [n for n in self.site_file.site.nodes if one.duty in duties(self.site_file.site, n)]

    def running(self, program, nodes):
        return {n.name: self.versions[n.name, program] for n in nodes}

    def installed(self, nodes, packages):
        found = {n.name: {p: self.versions.get((n.name, PROGRAM.get(p, p))) for p in packages} for n in nodes}
        return {node: {p: v for p, v in of.items() if v} for node, of in found.items()}

    def settled(self, one, node):
        phase = UPGRADES[one.name][0].name
        return self.cluster.state.entry(phase, node).state is PhaseState.DONE

    def leader(self, one):
        return {"etcd": self.etcd.leads, "postgresql": "w1"}.get(one.name, "")

    def prepare(self, one, node, tell):
        self.prepared.append((one.name, node))
        if one.name == "etcd":
            self.etcd.hand_over(node)

    def settings(self, one, node):
        return ()

    def drains(self, one, nodes, options, accepted, done):
        self.options = options
        if not self.drained or one.name != "docker":
            return {}
        return {n: self._drain(n, done) for n in nodes}

    def _drain(self, node, done):
        held = (Cordon(node),)
        step = Step(f"evict the pods of {node}", print, (node,), lambda: done(node), held)
        against = [finding("pods-local-data", host=node)] if node == self.kept else []
        return DrainPart([step], held, against)

    def refusals(self, one, nodes):
        return self.refused

    def troubles(self, one, node=""):
        return dict(self.sick)

    def bring(self, site_file, one, node, moves, command, tell):
        phase, state = UPGRADES[one.name][0].name, self.cluster.state
        state.start(phase, {node: "d"}, "r")
        self.moves.append(dict(moves))
        now = {PROGRAM.get(package, package): PATCH.get(v, v) for package, v in moves.items()}
        self.brought.append((one.name, node, now[one.name]))
        if self.killed_at == node:
            self.killed_at = ""
            self.versions[node, one.name] = ""
            raise KeyboardInterrupt
        self.versions |= {(node, program): version for program, version in now.items()}
        if (node, now[one.name]) in self.fails:
            state.finish(phase, {node: PhaseState.FAILED})
            raise AvadmError(finding("upgrade-failed", host=node))
        state.finish(phase, {node: PhaseState.DONE})
        self.sick = self.unwell_after.get((node, now[one.name]), {})

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
    assert "m2: etcd-server 3.4.23 → 3.5.*" in plan.packages
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
    room.run("prometheus", "alertmanager", "postgresql", "docker")
    room.reload()
    assert (room.site_file.site.profile, room.site_file.site.component_profiles) == (NEWER, {})
    assert room.site_file.profile == profiles.load(NEWER)


def test_without_names_all_that_differ_are_upgraded(room):
    room.run()
    room.reload()
    assert room.site_file.site.profile == NEWER
    assert {name for name, _, _ in room.brought} == set(OLD) & set(UPGRADES) - {"haproxy"}, (
        "the profiles have one haproxy"
    )


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
    room.brought = [("etcd", "", "")] if done else []
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
    assert room.codes("grafana") == ["component-not-supported"]
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
    (tmp_path / "ours.yml").write_text("inherits: lab-bookworm\nversions: {grafana: '11.', etcd: '3.5.'}\n")
    plan = room.plan(to="./ours.yml")
    assert [(f.check, f.found) for f in plan.refusals] == [("component-not-supported", "grafana")]
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


@pytest.fixture
def ours(room, tmp_path):
    """Return a profile of the site's own with a newer PostgreSQL and haproxy, and Debian 12's Patroni."""
    versions = "versions: {postgresql: '15.20', haproxy: '2.6.12-1+deb12u4'}\n"
    (tmp_path / "ours.yml").write_text(f"inherits: lab-bookworm\n{versions}")
    return "./ours.yml"


def test_the_primary_is_upgraded_last_after_others_took_over(room):
    room.run("postgresql")
    assert room.brought == [("postgresql", "w2", "15.20"), ("postgresql", "w1", "15.20")]
    assert room.prepared == [("postgresql", "w2"), ("postgresql", "w1")]
    assert room.moves == [{"postgresql-15": "15.20*", "patroni": "4.0.*"}] * 2
    assert {room.versions[n, "patroni"] for n in ("w1", "w2")} == {"4.0.7"}


def test_a_member_goes_back_to_the_release_that_it_had(room, ours):
    room.fails.add(("w2", "15.20"))
    with pytest.raises(AvadmError):
        room.run("postgresql", to=ours)
    # `15.*`, the former profile's, would leave 15.20 where it is.
    assert room.moves[1] == {"postgresql-15": "15.18"}
    assert room.versions["w2", "postgresql"] == "15.18"


def test_there_is_no_way_back_from_another_patroni(room, ours):
    def upgrades(plan):
        return [s for s in plan.steps if s.name.startswith("upgrade")]

    assert [s.undo for s in upgrades(room.plan("postgresql"))] == [None, None]
    assert all(s.name.endswith("no rollback") for s in upgrades(room.plan("postgresql")))
    assert all(s.undo for s in upgrades(room.plan("postgresql", to=ours)))


def test_a_member_of_which_the_former_release_is_not_known_is_not_taken_back(room, ours):
    room.versions["w2", "postgresql"] = "15.20"
    room.killed_at = "w2"
    room.installed = lambda nodes, packages: {
        n.name: dict.fromkeys(packages, "15.20-0+deb12u1") for n in nodes
    }
    plan = room.plan("postgresql", to=ours)
    assert [s.undo for s in plan.steps if s.name.startswith("upgrade")] == [None, None]


def test_only_patroni_is_changed_where_postgresql_is_new(room):
    for node in ("w1", "w2"):
        room.versions[node, "postgresql"] = "15.20"
    assert room.codes("postgresql") == []
    room.run("postgresql")
    assert {room.versions[n, "patroni"] for n in ("w1", "w2")} == {"4.0.7"}


def test_a_program_that_is_older_on_one_node_alone_is_refused(room):
    room.versions["w2", "patroni"] = "2.1.4"
    assert "upgrade-mixed-versions" in room.codes("postgresql")


def test_docker_may_cross_releases_and_takes_no_pods_meanwhile(room):
    room.drained = True
    plan = room.plan("docker")
    steps = [s for s in plan.steps if s.name.startswith("upgrade")]
    assert plan.refusals == [] and len(steps) == 5
    assert [s.name[:5] for s in plan.steps[:4]] == ["evict", "upgra"] * 2
    assert [s.settings for s in steps] == [(Cordon(n),) for n in ("m1", "m2", "m3", "w1", "w2")]
    assert "w1: docker.io 20.10.24+dfsg1 → 26.1.*" in plan.packages


def test_a_drain_is_as_the_user_asks_and_so_is_the_command_that_continues_it(room):
    asked = DrainOptions(Notice(60, stop_runs=True), "ann")
    plan = module.build(["docker"], NEWER, lambda cluster: room, drain=asked)(room.cluster)
    assert room.options == asked
    assert plan.command.endswith(f"--to {NEWER} --notice 60s --stop-runs --as ann")


def test_a_node_that_cannot_be_drained_is_refused(room):
    room.refused = [finding("docker-kubelet", host="w1")]
    assert room.codes("docker") == ["docker-kubelet"]


def test_pods_that_a_drain_would_lose_are_refused_and_may_be_accepted(room):
    room.drained, room.kept = True, "w2"
    plan = room.plan("docker")
    assert [(f.check, f.host) for f in plan.refusals] == [("pods-local-data", "w2")]
    assert "pods-local-data" in plan.acceptable


def test_a_node_whose_engine_is_new_is_not_drained_again(room):
    room.drained = True
    room.versions["m1", "docker"] = "26.1.5"
    steps = [s.name for s in room.plan("docker").steps]
    assert "evict the pods of m2" in steps and "evict the pods of m1" not in steps


def test_a_security_update_of_haproxy_is_told_apart_by_its_revision(room, ours):
    plan = room.plan("haproxy", to=ours)
    assert plan.refusals == [] and plan.nodes == ["m1", "m2", "m3"]
    assert "m1: haproxy 2.6.12-1+deb12u3 → 2.6.12-1+deb12u4*" in plan.packages
    assert not any("keepalived" in line for line in plan.packages)


@pytest.mark.parametrize(
    ("former", "moves", "found", "back"),
    [
        ({"a": "2.*"}, {"a": "3.*"}, {"a": "2.42-1"}, {"a": "2.42-1"}),
        ({"a": "2.*"}, {"a": "3.*"}, {"a": "3.1-1"}, {"a": "2.*"}),
        ({"a": "2.*"}, {"a": "3.*"}, {}, {"a": "2.*"}),
        ({"a": "15.*"}, {"a": "15.20*"}, {"a": "15.20-0"}, {}),
        ({"a": "15.*"}, {"a": "15.20*"}, {}, {}),
        (
            {"a": "15.*", "b": "3.0.*"},
            {"a": "15.20*", "b": "3.0.*"},
            {"a": "15.18-0", "b": "3.0.2"},
            {"a": "15.18-0"},
        ),
    ],
)
def test_what_a_failed_node_goes_back_to(former, moves, found, back):
    assert module._back(former, moves, found) == back
