"""Draining nodes on which AVA has runs: these leave by the platform first; it and the masters are made up, and behave."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube import drain as drains
from avadm.kube.drain import Allowed, drain, plan, uncordon
from avadm.kube.node_runs import Notice, Run

THEN = datetime(2026, 11, 28, 12, tzinfo=UTC)
SPACE = "ava-vision"


@dataclass
class Site:
    """Nodes with pods of AVA's runs and of others, the masters that tell of them, and a platform that stops runs in time.

    Attributes:
        on: node to runs that have a pod there.
        others: node to pods of others.
        strangers: node to pods with AVA's labels, and the run that each names.
        ends: run to the second at which it ends by itself.
        log: what changed, in order.
    """

    on: dict[str, list[Run]] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)
    strangers: dict[str, dict[str, str]] = field(default_factory=dict)
    bare: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    cordoned: set[str] = field(default_factory=set)
    begun: dict[str, tuple[float, Notice]] = field(default_factory=dict)
    agreed: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    silent: int = 0
    unasked: bool = False
    now: float = 0.0

    # The clock.
    def sleep(self, seconds):
        self.now += seconds

    def clock(self):
        return self.now

    def utc(self):
        return THEN + timedelta(seconds=self.now)

    # The masters.
    def ask(self, do, names, wait=0.0, **given):
        if self.silent:
            self.silent -= 1
            raise AvadmError([Finding(check="kubernetes-master", what="No master answers.")])
        return {name: getattr(self, f"_{do}")(name, given) for name in names}

    def _look(self, name, given):
        self._pass()
        runs = {f"{SPACE}/{run.id}-0-worker-0": run.id for run in self.on.get(name, [])}
        runs |= self.strangers.get(name, {})
        bare = [*runs, *self.bare.get(name, [])]
        refused = {} if given.get("force") else {"without-controller": bare, "local-data": list(runs)}
        return {
            "cordoned": name in self.cordoned,
            "going": [*runs, *self.others.get(name, []), *self.bare.get(name, [])],
            "refused": {why: pods for why, pods in refused.items() if pods},
            "runs": runs,
        }

    def _cordon(self, name, given):
        self.log.append(f"cordon {name}")
        changed = name not in self.cordoned
        self.cordoned.add(name)
        return {"changed": changed}

    def _uncordon(self, name, given):
        self.log.append(f"uncordon {name}")
        changed = name in self.cordoned
        self.cordoned.discard(name)
        return {"changed": changed}

    def _drain(self, name, given):
        assert not self.on.get(name), "kubectl would refuse"
        self.log.append(f"evict {name}")
        gone = self.others.pop(name, [])
        return {"done": True, "evicted": gone, "left": [], "refused": {}, "cordoned": True}

    # The platform.
    def runs(self, node):
        if self.unasked:
            raise AvadmError([Finding(check="ava-not-entered", what="AVA is not entered.")])
        return [replace(run, leaves=self._leaves(node, run)) for run in self.on.get(node, [])]

    def begin(self, node, notice):
        self.log.append(f"begin {node}")
        self.begun.setdefault(node, (self.now, notice))

    def withdraw(self, node):
        if self.unasked:
            raise AvadmError([Finding(check="ava-not-entered", what="AVA is not entered.")])
        self.log.append(f"withdraw {node}")
        self.begun.pop(node, None)

    def _leaves(self, node, run):
        if node not in self.begun:
            return None
        at, notice = self.begun[node]
        ended = run.kind != "training" or notice.stop_runs or run.id in self.agreed
        return THEN + timedelta(seconds=at + notice.seconds) if ended else None

    def _pass(self):
        for node, runs in self.on.items():
            left = [r for r in runs if (at := self._leaves(node, r)) is None or self.utc() < at]
            self.on[node] = [r for r in left if self.now < self.ends.get(r.id, 1e9)]


def run(id, kind="training", owner="ann"):
    return Run(id, kind, f"{kind}-{id}", owner, "vision", SPACE, THEN - timedelta(hours=3))


@pytest.fixture
def site(monkeypatch):
    made = Site()
    wait = drains.wait_for_runs
    monkeypatch.setattr(drains, "wait_for_runs", lambda *given: wait(*given, made.utc))
    return made


def drained(site, *names, lines=None, **allowed):
    tell = (lines if lines is not None else []).append
    return drain(site, names or ("comp1",), Allowed(**allowed), tell, site.clock, site.sleep, site)


def refused(site, *names, **allowed):
    with pytest.raises(AvadmError) as caught:
        drained(site, *names, **allowed)
    return [f.check for f in caught.value.findings], caught.value.findings


def test_runs_are_listed_with_owner_and_age_and_left_alone_by_a_look(site):
    site.on = {"comp1": [run("r1", owner="ben")]}
    found = plan(site, ["comp1"], Allowed(), print, site)
    assert [(r.owner, r.kind) for r in found.runs["comp1"]] == [("ben", "training")]
    assert "of ben" in found.runs["comp1"][0].words(THEN) and "3 h" in found.runs["comp1"][0].words(THEN)
    assert (found.going, site.log) == ({"comp1": 0}, [])


def test_runs_leave_when_the_notice_is_over_and_only_then_are_others_evicted(site):
    site.on = {"comp1": [run("r1", "workbench"), run("r2", "service")]}
    site.others = {"comp1": ["shop/web"]}
    lines = []
    (done,) = drained(site, lines=lines, notice=Notice(600))
    assert site.log == ["cordon comp1", "begin comp1", "evict comp1"]
    assert 600 <= site.now < 700
    assert ({r.id for r in done.runs}, done.evicted) == ({"r1", "r2"}, ["shop/web"])
    assert any("workbench-r1 of ann" in line and "12:10 UTC" in line for line in lines)


def test_a_training_is_waited_for_by_default_and_ended_by_stop_runs_or_consent(site):
    site.on, site.ends = {"comp1": [run("r1")]}, {"r1": 400.0}
    drained(site, notice=Notice(60))
    assert 400 <= site.now < 450
    for stop, agreed in ((True, set()), (False, {"r2"})):
        site.on, site.begun, site.agreed, start = {"comp1": [run("r2")]}, {}, agreed, site.now
        drained(site, notice=Notice(60, stop))
        assert 60 <= site.now - start < 100


def test_the_notice_is_not_of_the_time_that_a_node_may_take(site):
    site.on = {"comp1": [run("r1", "workbench")]}
    drained(site, notice=Notice(3600), timeout=30)
    assert site.now >= 3600


def test_runs_that_do_not_leave_in_time_are_named_and_the_same_command_continues(site):
    site.on = {"comp1": [run("r1")], "comp2": [run("r2")]}
    codes, (late, stays) = refused(site, "comp1", "comp2", timeout=100)
    assert codes == ["drain-runs-left", "left-cordoned"]
    assert ("training-r1 of ann" in late.found, late.host, stays.where) == (True, "comp1", "comp1")
    assert 100 <= site.now < 150
    # The turn of comp2 did not come: it is as it was, and its owners are notified of that.
    assert (site.cordoned, set(site.begun)) == ({"comp1"}, {"comp1"})
    site.on["comp1"] = []
    assert [one.was_cordoned for one in drained(site, "comp1")] == [True]


def test_a_pod_is_a_run_s_only_in_its_namespace_and_if_the_platform_knows_it(site):
    """Labels alone prove nothing: what is no run's would be lost, and is refused as ever."""
    for stranger in ({"ava-other/x": "r1"}, {f"{SPACE}/x": "r9"}):
        site.on, site.strangers = {"comp1": [run("r1", "workbench")]}, {"comp1": stranger}
        codes, (found,) = refused(site)
        assert codes == ["drain-refused"]
        assert next(iter(stranger)) in found.found
        assert "r1-0" not in found.found
    assert site.log == []


def test_pods_of_others_without_controller_are_refused_as_before(site):
    site.on, site.bare = {"comp1": [run("r1")]}, {"comp1": ["lab/bare"]}
    codes, (found,) = refused(site)
    assert (codes, "lab/bare" in found.found, site.log) == (["drain-refused"], True, [])
    site.ends = {"r1": 1.0}
    drained(site, force=True)
    assert site.log == ["cordon comp1", "begin comp1", "evict comp1"]


def test_a_platform_that_cannot_be_asked_stops_a_drain_only_where_it_has_runs(site):
    site.unasked, site.on = True, {"comp1": [run("r1")]}
    codes, _ = refused(site)
    assert (codes, site.log) == (["ava-not-entered", "drain-platform"], [])
    site.on = {}
    drained(site)
    assert site.log == ["cordon comp1", "evict comp1"]


def test_without_the_platform_all_is_as_before(site):
    site.strangers = {"comp1": {f"{SPACE}/x": "r1"}}
    with pytest.raises(AvadmError) as caught:
        drain(site, ["comp1"], Allowed(), print, site.clock, site.sleep)
    assert [f.check for f in caught.value.findings] == ["drain-refused"]
    site.strangers = {}
    drain(site, ["comp1"], Allowed(), print, site.clock, site.sleep)
    assert site.log == ["cordon comp1", "evict comp1"]


@pytest.mark.parametrize(("failures", "ends"), [(2, True), (3, False)])
def test_masters_that_are_silent_for_a_moment_while_it_is_waited(site, failures, ends):
    site.on = {"comp1": [run("r1", "workbench")]}
    begin = site.begin

    def silent(node, notice):
        begin(node, notice)
        site.silent = failures

    site.begin = silent
    if ends:
        assert drained(site, notice=Notice(60))
        return
    codes, _ = refused(site, notice=Notice(60))
    assert codes == ["kubernetes-master"]
    # Nothing had left: it takes pods again, and its owners were notified.
    assert (site.cordoned, site.begun) == (set(), {})


def test_uncordon_lets_runs_stay_and_does_so_where_the_platform_is_silent(site):
    site.begun, site.cordoned = {"comp1": (0.0, Notice())}, {"comp1"}
    lines = []
    assert uncordon(site, ["comp1"], lines.append, site) == {"comp1": {"changed": True}}
    assert (site.log, lines) == (["uncordon comp1", "withdraw comp1"], [])
    site.unasked = True
    assert uncordon(site, ["comp1"], lines.append, site) == {"comp1": {"changed": False}}
    assert len(lines) == 1
