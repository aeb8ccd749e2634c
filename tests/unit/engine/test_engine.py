import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from avadm.checks import versions
from avadm.engine import apply
from avadm.findings import Finding
from avadm.remote.fleet import Result
from avadm.site import profile
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.engine.conftest import FakeRunner, step


def states(bench, phase, *hosts):
    # Read from disk: what counts is what a later run finds.
    site_state = SiteState(bench.site_state.path, "t")
    return [site_state.entry(phase, h).state for h in hosts]


def phases(summary):
    return {name: phase.state for name, phase in summary.phases.items()}


def test_phases_run_in_order_with_playbook_and_limit(bench):
    recorder = bench.run([step("base", "ab"), step("ceph", "a", "base")])
    assert [(r.phase, str(r.playbook), r.limit) for r in bench.runner.requests] == [
        ("base", "/home/playbooks/base.yml", ("a", "b")),
        ("ceph", "/home/playbooks/ceph.yml", ("a",)),
    ]
    assert recorder.summary.result == "good"
    assert states(bench, "base", "a", "b") == [PhaseState.DONE, PhaseState.DONE]


def test_independent_phases_run_at_once(bench):
    # Each waits for the other one; one after the other they would time out.
    barrier = threading.Barrier(2, timeout=5)

    def meet(request):
        if request.phase != "base":
            barrier.wait()

    bench.runner.during = meet
    steps = [step("base", "a"), step("ceph", "a", "base"), step("monitoring", "a", "base")]
    assert bench.run(steps).summary.result == "good"


def test_a_dead_host_is_left_behind_and_the_others_go_on(bench):
    bench.runner.script = {"base": {"b": "unreachable"}}
    summary = bench.run([step("base", "abc"), step("ceph", "abc", "base")]).summary
    assert bench.runner.limits["ceph"] == ("a", "c")
    assert summary.dead == ["b"]
    assert summary.result == "failed"
    assert states(bench, "base", "a", "b", "c") == [PhaseState.DONE, PhaseState.UNREACHABLE, PhaseState.DONE]
    assert states(bench, "ceph", "a", "b", "c") == [PhaseState.DONE, PhaseState.PENDING, PhaseState.DONE]


def test_a_failed_phase_stops_what_needs_it_and_nothing_else(bench):
    bench.runner.script = {"ceph": {"a": "failed"}}
    needs = {"base": (), "ceph": ("base",), "monitoring": ("base",), "cephfs": ("ceph",), "late": ("cephfs",)}
    summary = bench.run([step(name, "ab", *needed) for name, needed in needs.items()]).summary
    done = dict.fromkeys(("base", "monitoring"), "done")
    assert phases(summary) == {**done, "ceph": "failed", "cephfs": "waiting", "late": "waiting"}
    assert summary.phases["cephfs"].note == "waiting on ceph"
    assert states(bench, "ceph", "a", "b") == [PhaseState.FAILED, PhaseState.DONE]


def test_hosts_that_a_given_up_playbook_did_not_end_on_stay_pending(bench):
    bench.runner.script = {"ceph": {"a": "failed"}}
    bench.runner.give_up = {"ceph"}
    bench.run([step("ceph", "ab")])
    assert states(bench, "ceph", "a", "b") == [PhaseState.FAILED, PhaseState.PENDING]


def test_a_phase_whose_hosts_are_all_dead_fails(bench):
    bench.runner.script = {"base": {"a": "unreachable"}}
    summary = bench.run([step("base", "a"), step("ceph", "a", "base")]).summary
    assert phases(summary) == {"base": "failed", "ceph": "waiting"}


def test_a_playbook_that_cannot_start_fails_with_ansibles_words(bench):
    bench.runner.rc = {"base": 4}
    summary = bench.run([step("base", "a")]).summary
    assert summary.phases["base"].state == "failed"
    assert [f.task for f in summary.failures] == ["start of the playbook"]


def test_errors_of_the_versions_check_fail_the_phase(bench):
    found = Finding("version", "ceph differs.", found="14", wanted="16", host="a")
    steps = [step("ceph", "ab"), step("rbd", "ab", "ceph")]
    summary = bench.run(steps, versions=lambda phase, hosts: [found] if phase == "ceph" else []).summary
    assert phases(summary) == {"ceph": "failed", "rbd": "waiting"}
    assert [(f.host, f.message) for f in summary.failures] == [("a", "ceph differs. Found 14, wanted 16.")]
    assert states(bench, "ceph", "a", "b") == [PhaseState.FAILED, PhaseState.DONE]


class StandIn:
    """A fleet whose living nodes all run node_exporter 1.5.0; the others cannot be reached."""

    def __init__(self, alive):
        self.alive, self.asked = alive, []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.asked.append(node)
        if node not in self.alive:
            return Result(node, command, 255, "", "", 0.0, 0.0, error="no route to host")
        fact = {"ceph_installed": None, "ceph_daemons": {}, "stale": [], "kernel": "6.1"}
        fact["services"] = {"node_exporter": "1.5.0"}
        return Result(node, command, 0, json.dumps(fact), "", 0.0, 0.0)


@pytest.fixture
def site_file(tmp_path):
    nodes = [{"name": n, "address": f"10.0.0.{i}", "roles": ["client"]} for i, n in enumerate("abc", 1)]
    network = {"management": "10.0.0.0/24", "domain": "example.test"}
    site = Site.model_validate({"name": "t", "network": network, "nodes": nodes})
    return SiteFile(tmp_path / "site.yml", site, profile.load("lab-bookworm"))


@pytest.mark.parametrize("first", ["base", "monitoring"])
def test_a_node_that_is_down_neither_fails_a_phase_nor_is_asked_for_its_versions(bench, site_file, first):
    fleet = StandIn({"a", "c"})
    bench.runner.script = {first: {"b": "unreachable"}}
    steps = [step(first, "abc"), step("rbd", "abc", first)]
    summary = bench.run(steps, versions=partial(versions.check, site_file, fleet)).summary
    assert phases(summary) == {first: "done", "rbd": "failed"}
    assert "b" not in fleet.asked
    assert states(bench, first, "a", "b", "c") == [PhaseState.DONE, PhaseState.UNREACHABLE, PhaseState.DONE]


def test_a_limited_run_asks_the_nodes_of_its_limit_only(bench, site_file):
    fleet = StandIn({"a"})
    check = partial(versions.check, site_file, fleet)
    assert bench.run([step("monitoring", "a")], versions=check).summary.result == "good"
    assert fleet.asked == ["a"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_running_phases_and_leaves_a_right_state(bench):
    stopped = threading.Event()

    class Stubborn(FakeRunner):
        def run(self, request, on_event, canceled):
            os.kill(os.getpid(), signal.SIGINT)
            while not canceled():
                threading.Event().wait(0.01)
            stopped.set()
            return super().run(request, on_event, canceled)

    bench.runner = Stubborn()
    with pytest.raises(KeyboardInterrupt):
        bench.run([step("base", "a"), step("ceph", "a", "base")])
    assert stopped.is_set()
    assert states(bench, "base", "a") == [PhaseState.FAILED]
    assert states(bench, "ceph", "a") == [PhaseState.PENDING]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_as_a_phase_is_handed_over_waits_for_it(bench, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    class Slow(FakeRunner):
        def run(self, request, on_event, canceled):
            begun.set()
            while not canceled():
                threading.Event().wait(0.01)
            result = super().run(request, on_event, canceled)
            ended.set()
            return result

    class Interrupted(ThreadPoolExecutor):
        # As when the signal comes after the thread's start and before the pool has noted it.
        def submit(self, function, *args):
            threading.Thread(target=function, args=args).start()
            assert begun.wait(5)
            raise KeyboardInterrupt

    monkeypatch.setattr(apply, "ThreadPoolExecutor", Interrupted)
    bench.runner = Slow()
    with pytest.raises(KeyboardInterrupt):
        bench.run([step("base", "a")])
    assert ended.is_set()
    assert states(bench, "base", "a") == [PhaseState.FAILED]


@pytest.mark.usefixtures("ctrl_c")
def test_a_phase_that_has_not_begun_at_ctrl_c_never_does(bench, monkeypatch):
    late = []

    class Interrupted(ThreadPoolExecutor):
        def submit(self, function, *args):
            late.append(lambda: function(*args))
            raise KeyboardInterrupt

    monkeypatch.setattr(apply, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.run([step("base", "a")])
    assert late[0]() == "canceled"
    assert bench.runner.requests == []
    assert states(bench, "base", "a") == [PhaseState.PENDING]


def test_a_dry_run_leaves_the_state_alone(bench):
    bench.run([step("base", "a")], check=True)
    assert bench.runner.requests[0].check
    assert states(bench, "base", "a") == [PhaseState.PENDING]
