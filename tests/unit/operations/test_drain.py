"""Drains: AVA's runs leave after a notice, pods are evicted, and what was set is undone where it fails; a kill at any step."""

import pytest

from avadm.cluster.half_done import half_done
from avadm.errors import AvadmError
from avadm.kube import node_runs
from avadm.kube.node_runs import LONGEST_NOTICE_S, Notice
from avadm.operations import drain as module
from avadm.operations.drain import DRAIN, DrainOptions, part
from avadm.operations.run import show
from avadm.state.operations import OperationRecord
from tests.unit.operations.ava_room import SPACE, THEN, Ava, run
from tests.unit.operations.bench import bench_of, killed, kills, refusals
from tests.unit.operations.running_site import RunningSite, nodes

SHORT = Notice(60)
NOTHING = (set(), set(), [], {})


@pytest.fixture
def clocks(monkeypatch):
    """The bench whose time it is: the one that was made last."""
    current = []
    for where in (node_runs, module):
        monkeypatch.setattr(where, "utc", lambda: current[-1].fleet.ava.utc() if current else THEN)
    return current


@pytest.fixture
def bench(tmp_path, monkeypatch, clocks):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    clocks.append(bench_of(tmp_path, *nodes(), components={"ava": {}}))
    return clocks[-1]


def failed(call, *words, **more):
    with pytest.raises(AvadmError) as error:
        call(*words, **more)
    assert error.value.exit_code == 1
    return error.value.findings


def interrupting(bench, monkeypatch, at):
    """Have ctrl-C pressed at the first wait after some seconds."""
    plain = Ava.sleep

    def sleep(self, seconds):
        plain(self, seconds)
        if self.now >= at:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ava, "sleep", sleep)


def test_the_plan_lists_runs_with_owner_and_age_and_changes_nothing(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1", owner="ben"), run("r2", "workbench")], "comp2": [run("r3", "service")]}
    planned = bench.plan(module.drain(["comp1", "comp2"], DrainOptions(SHORT)))
    assert (planned.refusals, ava.log, bench.state.begun()) == ([], [], [])
    text = "\n".join(show(planned))
    assert "Run on comp1: training training-r1 of ben (r1, 3 h): is waited for" in text
    assert "workbench-r2 of ann (r2, 3 h): stops 1 min after the notice" in text
    assert "Run on comp2: service service-r3 of ann (r3, 3 h): moves to other nodes" in text
    rows = planned.as_dict()["runs"]
    assert [(row["node"], row["id"], row["owner"]) for row in rows][:1] == [("comp1", "r1", "ben")]
    # Pods of runs are not counted as moved.
    assert planned.as_dict()["interrupts"][0]["what"].startswith("2 pods of comp1")
    stopped = bench.plan(module.drain(["comp1"], DrainOptions(Notice(60, True))))
    assert "is ended 1 min after" in stopped.runs[0].text


def test_runs_leave_when_the_notice_is_over_and_only_then_are_others_evicted(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1", "workbench"), run("r2", "service")]}
    bench.drain("comp1", notice=Notice(600))
    assert ava.log == ["cordon comp1", "notify comp1", "evict comp1"]
    assert 600 <= ava.now < 700
    assert "comp1" not in bench.fleet.pods
    # It stays so until `node uncordon`, which no record undoes before.
    assert bench.fleet.cordoned == {"comp1"}
    assert bench.state.begun() == bench.state.settings() == []
    assert any("workbench-r1 of ann" in line and "2026-11-28 12:10 UTC" in line for line in bench.lines)


def test_all_nodes_are_cordoned_before_owners_are_notified_and_these_before_a_pod_is_evicted(bench):
    bench.fleet.ava.on = {"comp2": [run("r1", "workbench")]}
    bench.drain("comp2", "comp1", notice=SHORT)
    log = bench.fleet.ava.log
    assert log[:4] == ["cordon comp1", "cordon comp2", "notify comp1", "notify comp2"]
    assert log[4:] == ["evict comp1", "evict comp2"]


def test_a_training_is_waited_for_by_default_and_ended_by_stop_runs_or_consent(bench):
    ava = bench.fleet.ava
    ava.on, ava.ends = {"comp1": [run("r1")]}, {"r1": 400.0}
    bench.drain("comp1", notice=SHORT)
    assert 400 <= ava.now < 450
    for stop, agreed in ((True, set()), (False, {"r2"})):
        ava.on, ava.begun, ava.agreed, start = {"comp1": [run("r2")]}, {}, agreed, ava.now
        bench.drain("comp1", notice=Notice(60, stop))
        assert 60 <= ava.now - start < 100


@pytest.mark.parametrize("kind", ["workbench", "training"])
def test_nothing_ends_the_wait_before_the_notice_is_over(bench, kind):
    bench.fleet.ava.on = {"comp1": [run("r1", kind)]}
    bench.fleet.ava.ends = {"r1": 3590.0}
    bench.drain("comp1", notice=Notice(3600), timeout=30)
    assert bench.fleet.ava.now >= 3590


def test_after_the_notice_there_is_a_limit_and_all_is_undone(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1")]}
    [found] = failed(bench.drain, "comp1", notice=SHORT, timeout=100)
    assert (found.check, 160 <= ava.now < 200) == ("gate-closed", True)
    assert "training-r1 of ann (r1)" in found.found
    assert "--stop-runs" in found.remedy
    assert "`avadm node uncordon comp1` gives up" in found.remedy
    assert (bench.fleet.cordoned, ava.begun, bench.state.settings()) == (set(), {}, [])
    assert "evict comp1" not in ava.log
    [half] = bench.state.begun()
    assert half.command == "avadm node drain comp1 --notice 60s"
    assert [f.check for f in half_done(bench.state, {"nodes"}, "avadm maintenance begin comp1")] == [
        "operation-half-done"
    ]
    assert half_done(bench.state, {"ceph"}) == []


def test_the_same_command_continues_also_with_other_options_of_the_drain(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1")]}
    failed(bench.drain, "comp1", notice=SHORT, timeout=100)
    bench.drain("comp1", notice=Notice(60, True), timeout=100)
    assert ("evict comp1" in ava.log, bench.state.begun()) == (True, [])
    assert bench.fleet.cordoned == {"comp1"}


def test_each_run_that_leaves_is_progress(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run(f"r{n}") for n in range(5)]}
    ava.ends = {f"r{n}": 60.0 + 90 * (n + 1) for n in range(5)}
    bench.drain("comp1", notice=SHORT, timeout=100)
    assert ava.now > 500


def test_what_others_had_set_stays_where_it_fails(bench):
    ava = bench.fleet.ava
    bench.fleet.cordoned.add("comp1")
    ava.begun = {"comp1": (0.0, Notice(60))}
    ava.on = {"comp1": [run("r1")], "comp2": [run("r2")]}
    failed(bench.drain, "comp1", "comp2", notice=SHORT, timeout=50)
    assert (bench.fleet.cordoned, set(ava.begun)) == ({"comp1"}, {"comp1"})
    assert ava.log[-2:] == ["uncordon comp2", "withdraw comp2"]


def test_pods_that_would_be_lost_are_refused_by_kind_and_nothing_changes(bench):
    bench.fleet.ava.on = {"comp1": [run("r1", "workbench")]}
    bench.fleet.refused["comp1"] = {"without-controller": ["x/a"], "local-data": ["x/b"]}
    ids = ["pods-without-controller", "pods-local-data"]
    assert refusals(bench.drain, "comp1", notice=SHORT) == ids
    assert refusals(bench.drain, "comp1", notice=SHORT, accept=ids[:1]) == ids[1:]
    assert (bench.fleet.ava.log, bench.state.begun()) == ([], [])
    bench.drain("comp1", notice=SHORT, accept=ids)
    assert bench.fleet.ava.log[-1] == "evict comp1"


def test_pods_that_no_other_node_takes_are_refused_by_the_plan_and_waited_for_later(bench, monkeypatch):
    bench.fleet.refused["comp1"] = {"nowhere": ["shop/a"]}
    assert refusals(bench.drain, "comp1", notice=SHORT) == ["pods-nowhere"]
    assert (bench.fleet.ava.log, bench.state.begun()) == ([], [])
    # The only other node is not Ready for a moment, once the plan was accepted.
    nowhere = [bench.fleet.refused.pop("comp1")] * 3
    plain = RunningSite._of

    def of(self, asked, name):
        if asked["do"] == "drain" and nowhere:
            self.refused[name] = nowhere.pop()
            return plain(self, asked, name)
        self.refused.clear()
        return plain(self, asked, name)

    waited = []
    monkeypatch.setattr(RunningSite, "_of", of)
    monkeypatch.setattr("time.sleep", waited.append)
    bench.drain("comp1", notice=SHORT)
    assert (bench.fleet.ava.log[-1], len(waited)) == ("evict comp1", 3)


def test_a_drain_waits_for_ava_where_the_one_before_may_have_ended_it(bench):
    found = part(bench.cluster(), ["comp2"], DRAIN, ["pods-nowhere"])
    gate = found.steps[0].gate
    bench.fleet.ava.silent = True
    assert gate.look().left == 1
    bench.fleet.ava.silent = False
    assert gate.look().left == 0
    assert part(bench.cluster(), ["comp2"], DRAIN).steps[0].gate is None


@pytest.mark.parametrize("stranger", [{"ava-other/x": "r1"}, {f"{SPACE}/x": "r9"}])
def test_a_pod_is_a_run_s_only_in_its_namespace_and_if_ava_knows_it(bench, stranger):
    """Labels alone show nothing: what is no run's would be lost; accepted, it is evicted and not waited for."""
    bench.fleet.ava.on, bench.fleet.strangers = {"comp1": [run("r1", "workbench")]}, {"comp1": stranger}
    with pytest.raises(AvadmError) as error:
        bench.drain("comp1", notice=SHORT)
    [found] = error.value.findings
    assert (found.check, found.found) == ("pods-without-controller", next(iter(stranger)))
    bench.drain("comp1", notice=SHORT, accept=["pods-without-controller"])
    assert bench.fleet.strangers == {}
    assert bench.fleet.ava.now < 100


def test_a_silent_ava_with_runs_there_is_refused_and_may_be_accepted(bench):
    ava = bench.fleet.ava
    ava.silent, ava.on = True, {"comp1": [run("r1")]}
    with pytest.raises(AvadmError) as error:
        bench.drain("comp1")
    [found] = error.value.findings
    assert (found.check, error.value.exit_code, ava.log) == ("ava-runs", 2, [])
    assert "AVA is not entered" in found.found
    assert "r1-0-worker-0" in found.found
    # Accepted is what is named, and no pod that is none of AVA's.
    bench.fleet.refused["comp1"] = {"without-controller": ["x/a"]}
    assert refusals(bench.drain, "comp1", accept=["ava-runs"]) == ["pods-without-controller"]
    bench.fleet.refused.clear()
    bench.drain("comp1", accept=["ava-runs"])
    assert ava.log == ["cordon comp1", "evict comp1"]
    assert ava.now == 0


def test_an_ava_that_answers_is_asked_though_its_silence_was_accepted(bench):
    bench.fleet.ava.on = {"comp1": [run("r1", "workbench")]}
    bench.drain("comp1", notice=SHORT, accept=["ava-runs"])
    assert bench.fleet.ava.log == ["cordon comp1", "notify comp1", "evict comp1"]
    assert bench.fleet.ava.now >= 60


def test_a_silent_ava_without_runs_there_forbids_nothing(bench):
    bench.fleet.ava.silent = True
    bench.drain("comp1")
    assert bench.fleet.ava.log == ["cordon comp1", "evict comp1"]


def test_an_ava_that_falls_silent_meanwhile_is_waited_for(bench, monkeypatch):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1", "workbench")]}
    plain = Ava.sleep

    def sleep(self, seconds):
        plain(self, seconds)
        self.silent = 20 <= self.now < 130

    monkeypatch.setattr(Ava, "sleep", sleep)
    bench.drain("comp1", notice=Notice(100), timeout=50)
    # Kubernetes shows that its pods are gone, whatever AVA says.
    assert 100 <= ava.now < 130
    assert any("AVA is not entered" in line for line in bench.lines)


def test_what_cannot_be_withdrawn_is_left_to_the_next_command(bench, monkeypatch):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1")]}

    def sleep(self, seconds):
        self.now += seconds
        self.silent = True

    with monkeypatch.context() as patch:
        patch.setattr(Ava, "sleep", sleep)
        failed(bench.drain, "comp1", notice=SHORT, timeout=50)
    assert bench.fleet.cordoned == set()
    assert [r.kind for r in bench.state.settings()] == ["ava-drain"]
    ava.silent = False
    bench.begin("stor1")
    assert ava.begun == {}
    assert bench.owned == []


def test_a_notice_that_was_withdrawn_elsewhere_is_named_and_ends_the_wait(bench, monkeypatch):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1", "workbench")]}
    plain = Ava.sleep

    def sleep(self, seconds):
        plain(self, seconds)
        self.begun.clear()

    monkeypatch.setattr(Ava, "sleep", sleep)
    [found] = failed(bench.drain, "comp1", notice=Notice(300), timeout=50)
    assert "AVA has withdrawn the notice" in found.found
    assert ava.now < 400


def test_a_nonsensical_end_of_a_notice_is_not_waited_for_longer_than_any_notice_lasts(bench):
    site, ava = bench.fleet, bench.fleet.ava
    ava.on = {"comp1": [run("r1", "workbench")]}
    ava.begin("comp1", Notice(10**8))
    left = node_runs.runs_left(bench.cluster().masters, ava, ["comp1"])
    assert (left.pods, left.expected_s) == (1, LONGEST_NOTICE_S)
    assert site.cordoned == set()


@pytest.mark.parametrize("at", [0, 30, 70])
def test_ctrl_c_undoes_what_was_set(bench, monkeypatch, at):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1")]}
    interrupting(bench, monkeypatch, at)
    with pytest.raises(KeyboardInterrupt):
        bench.drain("comp1", notice=SHORT)
    assert (bench.fleet.cordoned, ava.begun, bench.state.settings()) == (set(), {}, [])
    assert [one.verb for one in bench.state.begun()] == ["node drain"]


def test_a_node_that_kubernetes_does_not_know_is_refused(bench, monkeypatch):
    plain = RunningSite._of
    unknown = {"cordoned": None, "going": [], "refused": {}, "runs": {}}
    monkeypatch.setattr(
        RunningSite, "_of", lambda self, asked, name: unknown if name == "comp1" else plain(self, asked, name)
    )
    assert refusals(bench.drain, "comp1", "comp2") == ["node-unknown"]


def test_masters_that_do_not_answer_are_a_refusal_with_nothing_changed(bench):
    bench.fleet.dead |= {"mast1", "mast2"}
    assert set(refusals(bench.drain, "comp1")) == {"kubernetes-master"}
    assert bench.state.begun() == []


def test_a_site_without_ava_drains_as_kubernetes_alone_does(tmp_path, clocks, bench):
    plain = bench_of(tmp_path / "plain", *nodes())
    plain.fleet.strangers = {"comp1": {f"{SPACE}/x": "r1"}}
    assert refusals(plain.drain, "comp1") == ["pods-without-controller"]
    plain.fleet.strangers = {}
    plain.drain("comp1")
    assert plain.fleet.ava.log == ["cordon comp1", "evict comp1"]


def test_a_second_drain_changes_nothing(bench):
    bench.drain("comp1")
    held = bench.fleet.copy()
    bench.drain("comp1")
    assert {**bench.fleet.copy(), "asked": []} == {
        **held,
        "asked": [],
        "ava": bench.fleet.ava,
    }
    assert bench.fleet.ava.log.count("cordon comp1") == 1
    assert bench.state.settings() == []


@pytest.mark.parametrize(
    ("begun", "same"),
    [
        ("avadm node drain comp1", True),
        ("avadm node drain comp1 --notice 5s --stop-runs --as root", True),
        ("avadm node drain comp10", False),
        ("avadm node drain comp1 comp2", False),
        ("avadm node drain comp1 --other", False),
    ],
)
def test_a_command_is_continued_whatever_its_options_of_the_drain(bench, begun, same):
    bench.state.keep_operation(OperationRecord(begun, "node drain", ("nodes",), 0.0, "ann@x"))
    found = module.continued(bench.state, "avadm node drain comp1", DrainOptions(SHORT, "root 2"))
    assert found == (begun if same else "avadm node drain comp1 --notice 60s --as 'root 2'")


def test_a_half_done_drain_is_given_up_where_all_of_its_nodes_take_pods_again(bench):
    bench.fleet.ava.on = {"comp1": [run("r1")]}
    failed(bench.drain, "comp1", "comp2", notice=SHORT, timeout=50)
    assert module.half_drained(bench.state, ["comp1"]) == []
    assert len(module.half_drained(bench.state, ["comp1", "comp2", "comp3"])) == 1
    bench.run(module.give_up(["comp1", "comp2"]))
    assert bench.state.begun() == bench.state.settings() == []


WITH_RUNS = {"comp1": [run("r1", "workbench")], "comp2": [run("r2", "service")]}


def test_a_kill_anywhere_is_continued_without_a_pod_that_comes_back_and_with_the_first_notice(
    bench, tmp_path, clocks
):
    bench.fleet.ava.on = dict(WITH_RUNS)
    held = kills(bench, lambda: bench.drain("comp1", "comp2", notice=SHORT))
    assert len(held) > 8
    for number, one in enumerate(held):
        clocks.append(killed(bench, tmp_path, number, one))
        again = clocks[-1]
        again.drain("comp1", "comp2", notice=SHORT)
        log = again.fleet.ava.log
        assert again.fleet.cordoned == {"comp1", "comp2"}, number
        assert not [line for line in log if line.startswith(("uncordon", "withdraw"))], (number, log)
        assert not set(again.fleet.pods) & {"comp1", "comp2"}, number
        assert again.state.begun() == again.state.settings() == [], number


def test_a_kill_anywhere_is_undone_by_the_next_command_of_another_kind(bench, tmp_path, clocks):
    bench.fleet.ava.on = dict(WITH_RUNS)
    held = kills(bench, lambda: bench.drain("comp1", "comp2", notice=SHORT))
    for number, one in enumerate(held):
        clocks.append(killed(bench, tmp_path, f"other{number}", one))
        again = clocks[-1]
        left = {r.target for r in again.state.settings() if r.kind == "cordon"}
        again.begin("stor1")
        assert not again.fleet.cordoned & left, number
        assert again.owned == [], number
        half = again.state.begun()
        assert len(half) == (number < len(held) - 1), number


def test_a_refused_continuation_leaves_nothing_set(bench, tmp_path, clocks):
    bench.fleet.ava.on = dict(WITH_RUNS)
    held = kills(bench, lambda: bench.drain("comp1", "comp2", notice=SHORT))
    clocks.append(killed(bench, tmp_path, "refused", held[len(held) // 2]))
    again = clocks[-1]
    assert again.state.settings()
    again.fleet.refused["comp1"] = {"local-data": ["x/a"]}
    assert refusals(again.drain, "comp1", "comp2", notice=SHORT) == ["pods-local-data"]
    assert (again.fleet.cordoned, again.fleet.ava.begun, again.state.settings()) == (set(), {}, [])


# Maintenance, which drains by the same steps.


def test_a_maintenance_waits_for_runs_and_keeps_the_notice_until_its_end(bench):
    ava = bench.fleet.ava
    ava.on = {"comp1": [run("r1", "workbench")]}
    planned = bench.begin("comp1", drain=DrainOptions(Notice(600)))
    assert [one.run.id for one in planned.runs] == ["r1"]
    assert ava.now >= 600
    assert (bench.fleet.cordoned, set(ava.begun)) == ({"comp1"}, {"comp1"})
    # The time of the notice is not of the maintenance's.
    [one] = bench.on()
    assert one.until - one.since == 7200 + 600
    bench.end("comp1")
    assert (bench.fleet.marks, ava.begun, bench.state.settings()) == (NOTHING, {}, [])
    assert ava.log == ["cordon comp1", "notify comp1", "evict comp1", "uncordon comp1", "withdraw comp1"]


def test_a_maintenance_that_fails_undoes_cordon_and_notice(bench):
    bench.fleet.ava.on = {"comp1": [run("r1")]}
    [found] = failed(bench.begin, "comp1", drain=DrainOptions(SHORT, timeout=50))
    assert found.check == "gate-closed"
    assert "`avadm maintenance end comp1` gives up" in found.remedy
    assert (bench.fleet.marks, bench.fleet.ava.begun, bench.state.settings()) == (NOTHING, {}, [])
    [half] = bench.state.begun()
    assert half.command.endswith("--reason 'new memory' --notice 60s")
    bench.begin("comp1", drain=DrainOptions(Notice(60, True), timeout=50))
    assert bench.state.begun() == []


def test_a_maintenance_whose_drain_had_options_is_given_up_by_its_node(bench):
    bench.fleet.ava.on = {"comp1": [run("r1")]}
    failed(bench.begin, "comp1", drain=DrainOptions(SHORT, "root2", 50))
    bench.end("comp1")
    assert bench.state.begun() == []


def test_a_maintenance_is_refused_where_ava_is_silent_about_runs_there(bench):
    bench.fleet.ava.silent, bench.fleet.ava.on = True, {"comp1": [run("r1")]}
    assert refusals(bench.begin, "comp1") == ["ava-runs"]
    bench.begin("comp1", accept=["ava-runs"])
    assert bench.fleet.ava.log == ["cordon comp1", "evict comp1"]


def test_a_maintenance_after_a_drain_leaves_the_node_cordoned(bench):
    bench.drain("comp1", notice=SHORT)
    bench.begin("comp1")
    bench.end("comp1")
    assert (bench.fleet.cordoned, set(bench.fleet.ava.begun)) == ({"comp1"}, {"comp1"})


def test_a_kill_anywhere_in_a_maintenance_with_runs_is_continued_or_given_up(bench, tmp_path, clocks):
    bench.fleet.ava.on = {"comp1": [run("r1", "workbench")]}
    held = kills(bench, lambda: bench.begin("comp1", drain=DrainOptions(SHORT)))
    assert len(held) > 8
    for number, one in enumerate(held[:-1]):
        clocks.append(killed(bench, tmp_path, f"m{number}", one))
        again = clocks[-1]
        if again.on():
            continue
        again.begin("comp1", drain=DrainOptions(SHORT))
        assert (again.fleet.cordoned, set(again.fleet.ava.begun)) == ({"comp1"}, {"comp1"}), number
        assert not [line for line in again.fleet.ava.log if line.startswith(("uncordon", "withdraw"))]
        again.end("comp1")
        assert (again.fleet.marks, again.fleet.ava.begun) == (NOTHING, {}), number
        clocks.append(killed(bench, tmp_path, f"g{number}", one))
        given_up = clocks[-1]
        given_up.end("comp1")
        assert (given_up.fleet.marks, given_up.fleet.ava.begun) == (NOTHING, {}), number
        assert given_up.state.begun() == given_up.state.settings() == []
