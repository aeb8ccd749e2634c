"""Nodes that are drained: owners are notified once, runs stop when it is time, and what is withdrawn stops nothing."""

from datetime import timedelta

import pytest

from ava.domain.model import Kind, Outcome, PodState, Topic
from ava.domain.node_drains import NOTICE, WITHDRAWN
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, code, later

HALF = timedelta(minutes=30)
OVER = later(1800)
EACH = Resources(0, 1000, 2**30)


def on(world, node="comp1", kind=Kind.TRAINING, owner="ann", name="train"):
    """Return a running run with its pod on a node."""
    definition = world.definition(owner, name, kind)
    run = world.submit(EACH, owner, definition=definition)
    assert world.db.runs.admit(run.id, NOW) == ()
    world.db.allocations.record(run.id, EACH, NOW, since=NOW)
    pod = PodState(run.id, f"{run.id}-0-worker-0", "worker", 0, 0, "Running", node)
    world.db.pods.record(run.id, [pod], NOW)
    return world.db.runs.get(run.id)


def begin(world, at=NOW, wait=HALF, stop_runs=False, node="comp1"):
    return world.db.node_drains.begin("default", node, at, by="ann", wait=wait, stop_runs=stop_runs)


def stop_due(world, at, *runs, node="comp1"):
    found = world.db.node_drains.stop_due("default", node, [run.id for run in runs], at)
    return [run.id for run in found]


def notices(world, kind=NOTICE):
    return [m.object for m in world.db.outbox.list_open(Topic.NOTICE, 1000) if m.kind == kind]


def test_owners_of_runs_on_the_node_alone_are_notified_and_each_once(world):
    here, elsewhere = on(world), on(world, "comp2", name="other")
    assert notices(world) == []
    first = begin(world)
    assert notices(world) == [here.id]
    again = begin(world, later(60), timedelta(0))
    assert (again, notices(world)) == (first, [here.id])
    world.db.node_drains.notify("default", "comp1", [here.id, elsewhere.id], later(70))
    assert notices(world) == [here.id, elsewhere.id]


def test_a_workbench_stops_when_the_notice_is_over_and_not_before(world):
    bench = on(world, kind=Kind.WORKBENCH)
    begin(world)
    assert stop_due(world, later(1799), bench) == []
    assert world.db.runs.get(bench.id).stop is None
    assert stop_due(world, OVER, bench) == [bench.id]
    run = world.db.runs.get(bench.id)
    assert (run.stop, run.reason.values) == (OVER, {"node": "comp1"})
    assert ("run-stop", bench.id) in world.kinds(Topic.OPERATOR)
    assert stop_due(world, OVER, bench) == []
    (line,) = world.db.audit.list(action="nodes.stop-run").items
    assert (line["who"], line["object"], line["detail"]["node"]) == ("ava", f"run {bench.id}", "comp1")


def test_its_charge_ends_with_its_pods_and_not_with_the_notice(world):
    bench = on(world, kind=Kind.WORKBENCH)
    begin(world)
    stop_due(world, OVER, bench)
    assert len(world.db.charges.list(run=bench.id, open_only=True)) == 1
    world.db.runs.finish(bench.id, Outcome.STOPPED, "", later(1830))
    assert world.db.charges.list(run=bench.id, open_only=True) == []
    (charge,) = world.db.charges.list(run=bench.id)
    assert charge.ended == later(1830)
    assert world.db.runs.get(bench.id).reason.values == {"node": "comp1"}


def test_a_training_ends_by_consent_or_where_that_was_asked_for_and_else_stays(world):
    run = on(world)
    begin(world)
    assert stop_due(world, later(10**6), run) == []
    world.db.node_drains.consent(run.id, later(60))
    assert world.db.node_drains.consents([run.id]) == {(run.id, "comp1")}
    assert stop_due(world, later(1799), run) == []
    assert stop_due(world, OVER, run) == [run.id]


def test_a_training_has_its_whole_notice_from_when_its_end_was_first_asked_for(world):
    run, bench = on(world), on(world, kind=Kind.WORKBENCH, name="bench")
    begin(world)
    assert begin(world, later(1000), stop_runs=True).runs_until == later(2800)
    assert begin(world, later(2000), stop_runs=True).runs_until == later(2800)
    # Once more, for it reads another time now; of the workbench nothing has changed.
    assert notices(world) == [run.id, bench.id, run.id]
    assert stop_due(world, later(2799), run, bench) == [bench.id]
    assert stop_due(world, later(2800), run, bench) == [run.id]


def test_who_asks_again_without_the_end_of_trainings_ends_none(world):
    run = on(world)
    begin(world, stop_runs=True)
    assert begin(world, later(60)).runs_until is None
    assert stop_due(world, later(10**6), run) == []


def test_a_service_is_never_stopped_for_it(world):
    run = on(world, kind=Kind.SERVICE)
    begin(world, stop_runs=True)
    assert notices(world) == [run.id]
    assert stop_due(world, later(10**6), run) == []


def test_what_is_withdrawn_stops_nothing_and_owners_are_notified(world):
    run, done = on(world, kind=Kind.WORKBENCH), on(world, name="done")
    begin(world)
    world.db.node_drains.consent(done.id, NOW)
    world.db.runs.finish(done.id, Outcome.SUCCEEDED, "", later(5))
    assert world.db.node_drains.withdraw("default", "comp1", later(10))
    assert not world.db.node_drains.withdraw("default", "comp1", later(11))
    assert notices(world, WITHDRAWN) == [run.id]
    assert world.db.node_drains.list() == []
    assert world.db.node_drains.consents([done.id]) == set()
    assert stop_due(world, later(10**6), run) == []
    # Again: a whole notice, from then on.
    assert begin(world, later(20)).until == later(1820)
    assert notices(world) == [run.id, done.id, run.id]


def test_drains_of_other_nodes_and_clusters_are_apart(world):
    run = on(world)
    begin(world, node="comp2")
    assert stop_due(world, later(10**6), run) == []
    assert [d.node for d in world.db.node_drains.list("default")] == ["comp2"]
    assert world.db.node_drains.list("other") == []
    assert world.db.node_drains.runs_on("default", "comp2") == []
    ((found, pods),) = world.db.node_drains.runs_on("default", "comp1")
    assert (found.id, [p.node for p in pods]) == (run.id, ["comp1"])


@pytest.mark.parametrize("kind", [Kind.WORKBENCH, Kind.SERVICE])
def test_only_a_training_on_a_drained_node_has_an_end_to_agree_to(world, kind):
    run, other = on(world), on(world, kind=kind, name="other")
    consent = world.db.node_drains.consent
    assert code(consent, run.id, NOW) == (409, "run-not-on-drained-node")
    begin(world)
    assert code(consent, other.id, NOW) == (409, "run-not-on-drained-node")
    assert [d.node for d in consent(run.id, NOW)] == ["comp1"]
    assert [d.node for d in consent(run.id, later(5))] == ["comp1"]
    world.db.runs.stop(run.id, later(6), by="ann")
    assert code(consent, run.id, later(7)) == (409, "run-not-on-drained-node")
