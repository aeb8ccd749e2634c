"""When a run leaves a node that is drained, by its kind, the notice and its owner's consent."""

from dataclasses import replace

import pytest

from ava.domain.model import Kind, PodState
from ava.domain.node_drains import LEAST_FOR_SERVICES, NodeDrain, first, leaves_at, nodes_of, notice, remedy
from tests.unit.ava.db.world import NOW, World, later

DRAIN = NodeDrain("default", "comp1", "root2", NOW, later(1800))
STOPS = replace(DRAIN, runs_until=later(2400))


@pytest.mark.parametrize(
    ("drain", "kind", "consented", "expected"),
    [
        (DRAIN, Kind.WORKBENCH, False, 1800),
        (DRAIN, Kind.SERVICE, False, 1800),
        (DRAIN, Kind.TRAINING, False, None),
        (DRAIN, Kind.TRAINING, True, 1800),
        (STOPS, Kind.TRAINING, False, 2400),
        (STOPS, Kind.TRAINING, True, 1800),
        (STOPS, Kind.WORKBENCH, False, 1800),
    ],
)
def test_a_run_leaves_by_its_kind_and_its_owner_s_consent(drain, kind, consented, expected):
    assert leaves_at(drain, kind, consented) == (None if expected is None else later(expected))


def test_a_service_has_time_for_a_replica_elsewhere_however_short_the_notice():
    at_once = replace(DRAIN, until=NOW)
    assert leaves_at(at_once, Kind.SERVICE, consented=False) == NOW + LEAST_FOR_SERVICES
    assert leaves_at(at_once, Kind.WORKBENCH, consented=False) == NOW


def pod(attempt=0, phase="Running", node="comp1"):
    return PodState("r1", f"r1-{attempt}-{phase}", "worker", 0, attempt, phase, node)


@pytest.mark.parametrize(
    ("kind", "state", "on"),
    [
        (Kind.TRAINING, pod(), True),
        (Kind.TRAINING, pod(phase="Terminating"), True),
        (Kind.TRAINING, pod(phase="Succeeded"), False),
        (Kind.TRAINING, pod(attempt=1), False),
        (Kind.TRAINING, pod(node=""), False),
        (Kind.SERVICE, pod(attempt=1), True),
    ],
)
def test_only_pods_that_are_there_of_the_present_attempt_put_a_run_on_a_node(db, kind, state, on):
    run = replace(World(db).running(), kind=kind)
    assert nodes_of(run, [state]) == ({"comp1"} if on else set())


def test_of_several_drained_nodes_the_one_that_is_left_first_is_named():
    soon = replace(DRAIN, node="comp2", until=later(60))
    assert first([DRAIN, soon], Kind.WORKBENCH, consented=False) == soon
    assert first([DRAIN, replace(STOPS, node="comp3")], Kind.TRAINING, consented=False).node == "comp3"
    assert first([], Kind.TRAINING, consented=False) is None


@pytest.mark.parametrize("kind", Kind)
def test_owners_read_the_node_and_the_time(kind):
    text = notice(STOPS, kind, consented=False)
    expected = leaves_at(STOPS, kind, consented=False)
    assert text.values == {"node": "comp1", "time": f"{expected:%Y-%m-%d %H:%M} UTC"}
    assert "`ava consent`" in remedy(DRAIN, Kind.TRAINING, consented=False)
    assert "`ava consent`" not in remedy(DRAIN, Kind.TRAINING, consented=True)
