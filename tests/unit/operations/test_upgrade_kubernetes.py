"""`avadm upgrade kubernetes`: masters first, then nodes in batches, drained; refused early, taken back, continued."""

from __future__ import annotations

import pytest

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import ApiServerAway, Cordon
from avadm.cluster.settings import Settings
from avadm.errors import AvadmError
from avadm.operations import run as framework
from avadm.operations import upgrade as module
from avadm.operations import upgrade_kubernetes
from avadm.operations.drain import DrainPart
from avadm.operations.model import Interruption, Step
from avadm.operations.upgrade_kubernetes_nodes import CONTROL, NODES, VIRTUAL, Kubelet, KubernetesNodes
from avadm.site.load import load
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.clock import Clock

OLD, NEW = "1.9.11", "1.10.13"
TO = "lab-bookworm-kubernetes-1.10"
SITE = """
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250}
nodes:
  - {name: m1, address: 10.0.0.1, roles: [master, etcd]}
  - {name: m2, address: 10.0.0.2, roles: [master, etcd]}
  - {name: m3, address: 10.0.0.3, roles: [master, etcd]}
  - {name: w1, address: 10.0.0.11, roles: [worker, gpu], gpus: {count: 4, model: tesla-v100}}
  - {name: w2, address: 10.0.0.12, roles: [worker]}
  - {name: w3, address: 10.0.0.13, roles: [worker]}
"""
MASTERS, WORKERS = ["m1", "m2", "m3"], ["w1", "w2", "w3"]
EVERY = [*MASTERS, *WORKERS]


class FakeKubernetes:
    """Masters and nodes with versions: a phase changes those of its nodes, a drain is noted."""

    def __init__(self, path):
        self.path = path
        self.servers = dict.fromkeys(MASTERS, OLD)
        self.managers = dict.fromkeys(MASTERS, OLD)
        self.agents = {n: Kubelet(True, OLD, 4 if n == "w1" else 0) for n in EVERY}
        self.proxy = dict.fromkeys(EVERY, OLD)
        self.did, self.cordoned, self.cordons_at = [], set(), []
        self.away, self.away_at = set(), []
        self.refused, self.budgets, self.etcd_bad = {}, {}, {}
        self.lacking, self.snapshots = [], []
        self.fails, self.sick, self.kill, self.late = set(), {}, None, set()
        self.reload()

    def reload(self):
        """As the next command sees the site."""
        self.site_file = load(self.path)
        self.cluster = Cluster(self.site_file, None, SiteState.of(self.path, "t"))
        self.lines = []

    # What the planner asks.
    program, masters, members = "kubelet", MASTERS, EVERY
    batches = KubernetesNodes.batches

    @property
    def etcd(self):
        return self

    names = MASTERS

    def troubles(self):
        return dict(self.etcd_bad)

    def snapshot(self):
        assert not self.did, "before anything changes"
        self.snapshots.append(self.cluster.state.begun()[0].started)
        return "m1"

    def has_snapshot(self, since):
        return since in self.snapshots

    def api(self):
        behind = next((v for v in self.servers.values() if v), "")
        return {**self.servers, VIRTUAL: behind}

    def controllers(self, master):
        return dict.fromkeys(("kube-controller-manager", "kube-scheduler"), self.managers[master])

    def kubelets(self):
        return dict(self.agents)

    def proxies(self, names):
        return {n: self.proxy[n] for n in names}

    def drained(self, names, options, accepted, done):
        """As operations/drain.py plans it: what it sets is held by all of a batch's steps."""
        names, settings = tuple(names), tuple(Cordon(n) for n in names)

        def act(tell):
            assert set(names) == self.cordoned, "the batch alone is cordoned"
            self.cordons_at.append(sorted(self.cordoned))
            self.did.append(("drain", names, "pods-local-data" in accepted))
            if late := self.late & set(names):
                raise AvadmError(finding("upgrade-unhealthy", host=late.pop(), name="a pod that stays"))

        against = [finding(check, host=n) for n in names for check in self.refused.get(n, ())]
        step = Step(f"evict the pods of {', '.join(names)}", act, names, done, settings)
        return DrainPart([step], settings, against, [Interruption(f"1 pod of {names}", None)])

    def kept(self, names):
        return {n: self.budgets[n] for n in names if n in self.budgets}

    def missing(self, site_file):
        return [f for version, f in self.lacking if site_file.profile.versions[self.program] == version]

    def gpus(self, name):
        return 4 if name == "w1" else 0

    def settled(self, phase, name):
        entry = self.cluster.state.entry(phase, name).state
        return entry is PhaseState.DONE

    def bring(self, site_file, phase, names, command, tell):
        version, state = site_file.profile.versions[self.program], self.cluster.state
        self.did.append((phase, tuple(names), version))
        self.away_at.append((phase, sorted(self.away)))
        state.start(phase, dict.fromkeys(names, "d"), "r")
        if self.kill == (phase, names[0]):
            self.kill = None
            for name in names:
                self._set(phase, name, "")
            raise KeyboardInterrupt
        for name in names:
            self._set(phase, name, version)
        if (phase, names[0], version) in self.fails:
            state.finish(phase, dict.fromkeys(names, PhaseState.FAILED))
            raise AvadmError(finding("upgrade-failed", host=names[0]))
        state.finish(phase, dict.fromkeys(names, PhaseState.DONE))

    def _set(self, phase, name, version):
        if phase == CONTROL:
            self.servers[name] = self.managers[name] = version
            return
        self.proxy[name] = version
        ready = bool(version) and (name, version) not in self.sick
        gpus = self.sick.get((name, version), self.gpus(name)) or 0
        self.agents[name] = Kubelet(
            ready or ((name, version) in self.sick and gpus > 0), version or OLD, gpus
        )

    # What a test asks.
    def plan(self, *accepted):
        own = {"kubernetes": lambda asked: upgrade_kubernetes.plan(asked, lambda cluster: self)}
        return module.build(["kubernetes"], TO, lambda cluster: None, own, accepted)(self.cluster)

    def codes(self, *accepted):
        return sorted(f.check for f in self.plan(*accepted).refusals)

    def run(self, *accepted):
        operation = self.plan(*accepted)
        assert framework.refused(operation, accepted) == []
        clock = Clock()
        framework._recorded(
            self.cluster,
            operation,
            Settings(self.cluster, self.lines.append),
            self.lines.append,
            framework.Clock(clock, clock.sleep),
        )
        return operation

    def failed(self, *accepted):
        with pytest.raises(AvadmError) as error:
            self.run(*accepted)
        return [f.check for f in error.value.findings]


@pytest.fixture
def kube(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    fake = FakeKubernetes(tmp_path / "site.yml")
    for phase in (CONTROL, NODES):
        names = MASTERS if phase == CONTROL else EVERY
        fake.cluster.state.start(phase, dict.fromkeys(names, "d"), "r")
        fake.cluster.state.finish(phase, dict.fromkeys(names, PhaseState.DONE))
    for kind, names in ((Cordon, fake.cordoned), (ApiServerAway, fake.away)):
        monkeypatch.setattr(kind, "held", lambda self, cluster, names=names: self.target in names)
        monkeypatch.setattr(kind, "set", lambda self, cluster, names=names: names.add(self.target))
        monkeypatch.setattr(kind, "unset", lambda self, cluster, names=names: names.discard(self.target))
    return fake


def test_a_healthy_site_is_planned_without_a_refusal_and_nothing_is_changed(kube):
    plan = kube.plan()
    assert plan.refusals == [] and kube.did == []
    assert plan.components == {"masters", "nodes"}
    assert plan.nodes == ["m1", "m2", "m3", "w1", "w2", "w3"]
    assert f"w2: hyperkube {OLD} → {NEW}" in plan.packages
    control = [s for s in plan.steps if "API server" in s.name]
    assert len(control) == 3 and all(s.name.endswith("no rollback") and s.undo is None for s in control)
    agents = [s for s in plan.steps if s.name.startswith("upgrade kubelet")]
    assert len(agents) == 6 and all(s.undo is not None and s.settings for s in agents)


def test_masters_come_first_one_by_one_then_each_batch_is_drained_before_its_kubelet_changes(kube):
    kube.run()
    assert len(kube.snapshots) == 1
    wanted = [(CONTROL, (n,), NEW) for n in MASTERS]
    for name in EVERY:
        wanted += [("drain", (name,), False), (NODES, (name,), NEW)]
    assert kube.did == wanted
    assert kube.cordons_at == [[n] for n in EVERY] and kube.cordoned == set()
    away = [(CONTROL, [n]) for n in MASTERS] + [(NODES, []) for _ in EVERY]
    assert kube.away_at == away and kube.away == set(), "no request comes to a master that is upgraded"
    assert set(kube.servers.values()) == {NEW} == {one.version for one in kube.agents.values()}
    kube.reload()
    assert (kube.site_file.site.profile, kube.site_file.site.component_profiles) == (TO, {})


def test_a_large_site_has_a_tenth_of_its_workers_away_at_a_time(kube):
    many = [f"w{i}" for i in range(25)]
    assert kube.batches([*MASTERS, *many])[:3] == [["m1"], ["m2"], ["m3"]]
    batches = kube.batches([*MASTERS, *many])[3:]
    assert [n for batch in batches for n in batch] == many
    assert {len(batch) for batch in batches} == {1, 2}


def test_a_second_run_changes_nothing(kube):
    kube.run()
    kube.reload()
    kube.did.clear()
    kube.run()
    assert kube.did == []


@pytest.mark.parametrize(
    ("version", "codes"),
    [
        ("1.10.12", []),
        ("1.8.15", ["upgrade-skips-release"]),
        ("1.11.10", ["upgrade-downgrade"]),
        ("1.10.14", ["upgrade-downgrade"]),
        ("2.0.0", ["upgrade-downgrade", "upgrade-skew"]),
    ],
)
def test_one_minor_release_at_a_time_and_no_way_back(kube, version, codes):
    kube.servers = dict.fromkeys(MASTERS, version)
    kube.agents = {n: Kubelet(True, version, 4 if n == "w1" else 0) for n in EVERY}
    assert sorted(set(kube.codes())) == codes


@pytest.mark.parametrize("version", ["1.7.16", "1.10.13", "unknown"])
def test_kubelets_that_upstream_does_not_support_with_the_servers_are_refused(kube, version):
    kube.agents["w2"] = Kubelet(True, version)
    wanted = "upgrade-version-unknown" if version == "unknown" else "upgrade-skew"
    assert [(f.check, f.where or f.host) for f in kube.plan().refusals] == [(wanted, "w2")]


def test_a_kubelet_two_minor_releases_behind_is_supported(kube):
    kube.agents["w2"] = Kubelet(True, "1.8.15")
    assert kube.codes() == []


def test_masters_of_mixed_versions_are_refused_unless_the_same_command_was_stopped(kube):
    kube.servers["m3"] = NEW
    assert kube.codes() == ["upgrade-mixed-versions"]


def test_all_that_speaks_against_it_comes_in_one_pass(kube):
    kube.servers["m2"] = ""
    kube.etcd_bad = {"m3": "it knows no leader"}
    kube.agents["w3"] = Kubelet(False, OLD)
    kube.refused = {"w2": ["pods-local-data", "pods-without-controller"], "w1": ["ava-runs"]}
    kube.budgets = {"w2": ["a/b (kept by budget a/z: 1 healthy, at least 1 wanted)"]}
    kube.lacking = [(NEW, finding("artifact-missing", title="kubernetes", names="masters", state="absent"))]
    found = {(f.check, f.where or f.host) for f in kube.plan().refusals}
    assert found == {
        ("artifact-missing", None),
        ("upgrade-unhealthy", "m2"),
        ("upgrade-unhealthy", "m3"),
        ("upgrade-node-away", "w3"),
        ("ava-runs", "w1"),
        ("pods-local-data", "w2"),
        ("pods-without-controller", "w2"),
        ("upgrade-budget", "w2"),
    }
    assert kube.did == []


def test_the_former_program_has_to_be_there_too(kube):
    kube.lacking = [(OLD, finding("artifact-missing", title="kubernetes", names="nodes", state="absent"))]
    assert kube.codes() == ["artifact-missing"]


def test_what_is_accepted_is_done_and_a_node_that_is_away_is_left_out(kube):
    kube.agents["w3"] = Kubelet(False, OLD)
    kube.refused = {"w2": ["pods-local-data"]}
    kube.run("upgrade-node-away", "pods-local-data")
    drained = [names for what, names, _ in kube.did if what == "drain"]
    assert ("w3",) not in drained and ("drain", ("w2",), True) in kube.did
    assert kube.agents["w3"].version == OLD


def test_a_worker_that_fails_gets_its_former_program_back_and_no_other_is_touched(kube):
    kube.fails.add((NODES, "w1", NEW))
    assert kube.failed() == ["upgrade-failed"]
    assert kube.did[-2:] == [(NODES, ("w1",), NEW), (NODES, ("w1",), OLD)]
    assert kube.agents["w1"] == Kubelet(True, OLD, 4) and kube.cordoned == set()
    kube.fails.clear()
    kube.reload()
    kube.did.clear()
    kube.run()
    assert [n for what, n, _ in kube.did if what == NODES] == [("w1",), ("w2",), ("w3",)]


@pytest.mark.parametrize("gpus", [0, 3])
def test_a_worker_without_its_gpus_or_not_ready_is_taken_back(kube, gpus):
    kube.sick["w1", NEW] = gpus
    assert kube.failed() == ["gate-closed"]
    assert kube.agents["w1"] == Kubelet(True, OLD, 4)
    assert kube.agents["w2"].version == OLD


def test_a_drain_that_fails_uncordons_and_replaces_nothing(kube):
    kube.late.add("w2")
    assert kube.failed() == ["upgrade-unhealthy"]
    assert kube.cordoned == set()
    assert not [d for d in kube.did if d[0] == NODES and d[1] == ("w2",)]
    assert kube.agents["w2"].version == OLD


def test_a_master_that_fails_is_not_taken_back_and_the_others_serve(kube):
    kube.fails.add((CONTROL, "m2", NEW))
    assert kube.failed() == ["upgrade-failed"]
    assert kube.did == [(CONTROL, ("m1",), NEW), (CONTROL, ("m2",), NEW)]
    assert kube.servers["m3"] == OLD


def test_a_master_whose_address_reports_the_former_version_holds_the_gate(kube, monkeypatch):
    bring = kube.bring

    def half(site_file, phase, names, command, tell):
        bring(site_file, phase, names, command, tell)
        if names == ["m1"] and phase == CONTROL:
            kube.servers["m1"] = OLD

    monkeypatch.setattr(kube, "bring", half)
    assert kube.failed() == ["gate-closed"]
    assert kube.servers["m2"] == OLD


@pytest.mark.parametrize(
    "at", [(CONTROL, "m1"), (CONTROL, "m3"), (NODES, "m2"), (NODES, "w1"), (NODES, "w3")]
)
def test_a_killed_upgrade_is_continued_by_the_same_command(kube, at):
    kube.kill = at
    with pytest.raises(KeyboardInterrupt):
        kube.run()
    done = [d for d in kube.did[:-1] if d[0] != "drain"]
    kube.reload()
    kube.did.clear()
    assert kube.codes() == []
    if at[0] == CONTROL:
        # The one at work may not answer.
        assert kube.servers[at[1]] == ""
    else:
        assert not kube.agents[at[1]].ready
    kube.run()
    assert len(kube.snapshots) == 1
    assert not set(done) & set(kube.did), "finished steps are not repeated"
    assert set(kube.servers.values()) == {NEW} == {one.version for one in kube.agents.values()}
    assert kube.cordoned == set()


def test_nothing_is_drained_while_an_api_server_is_older(kube):
    operation = kube.plan()
    step = next(s for s in operation.steps if "of batch 4" in s.name)
    with pytest.raises(AvadmError) as error:
        step.act(kube.lines.append)
    assert {f.check for f in error.value.findings} == {"upgrade-unhealthy"}
    assert kube.did == []


def test_no_master_is_changed_while_another_or_etcd_is_not_well(kube):
    operation = kube.plan()
    step = next(s for s in operation.steps if "on m2" in s.name)
    kube.servers["m3"], kube.etcd_bad = "", {"m1": "its member does not answer"}
    with pytest.raises(AvadmError) as error:
        step.act(kube.lines.append)
    assert {f.where for f in error.value.findings} == {"m1", "m3"}
    assert kube.did == []
