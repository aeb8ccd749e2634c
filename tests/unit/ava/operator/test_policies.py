"""What is done when a pod fails; the same answer however often it is asked."""

from datetime import UTC, datetime, timedelta

import pytest

from ava.domain.model import Kind, Outcome, Phase, PodState, Run
from ava.domain.resources import Resources
from ava.domain.spec import Spec
from ava.operator.policies import Finish, Proceed, Restart, decide

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def run(spec, attempt=0, stop=None, started=NOW):
    return Run(
        id="r1",
        definition="d1",
        kind=Kind.TRAINING,
        name="t",
        owner="ann",
        group="vision",
        queue="default",
        priority=50,
        cluster="default",
        key="k",
        spec={},
        asks=Resources(),
        phase=Phase.ADMITTED,
        created=NOW,
        admitted=NOW,
        started=started,
        stop=stop,
        attempt=attempt,
    )


def state(role, index, phase, **more):
    known = {"node": "n1", "reason": "Error" if phase == "Failed" else ""} | more
    return PodState("r1", f"{role}-{index}", role, index, 0, phase, **known)


def ask(roles, states, present=None, *, attempt=0, stop=None, now=NOW, **spec):
    reply = Spec.model_validate({"image": "i", "roles": roles} | spec)
    known = {(s.role, s.index): s for s in states}
    return decide(
        run(reply, attempt, stop),
        reply,
        known,
        known.keys() if present is None else present,
        now,
        pod_restarts=3,
    )


ONE = [{"name": "worker"}]


@pytest.mark.parametrize(
    "policy, retries, attempt, wanted",
    [
        ("restart-run", 0, 0, Outcome.FAILED),
        ("restart-run", 2, 1, Restart),
        ("restart-run", 2, 2, Outcome.FAILED),
        ("abort", 5, 0, Outcome.ABORTED),
        ("delete", 5, 0, Outcome.ABORTED),
        ("restart-pod", 0, 0, Proceed),
    ],
)
def test_each_policy(policy, retries, attempt, wanted):
    reply = ask(
        [{"name": "worker", "policy": policy}],
        [state("worker", 0, "Failed")],
        attempt=attempt,
        retries=retries,
    )
    assert reply.outcome is wanted if isinstance(reply, Finish) else isinstance(reply, wanted)
    assert getattr(reply, "now", False) is (policy == "delete")


@pytest.mark.parametrize("policy, wanted", [("restart-run", Outcome.LOST), ("abort", Outcome.ABORTED)])
def test_a_pod_that_had_a_node_and_is_gone_was_lost(policy, wanted):
    reply = ask([{"name": "worker", "policy": policy}], [state("worker", 0, "Running")], present=())
    assert reply.outcome is wanted


def test_a_pod_that_never_had_a_node_is_made_again_without_a_failure():
    reply = ask(ONE, [state("worker", 0, "Pending", node="")], present=())
    assert reply == Proceed({("worker", 0): 0})


def test_what_the_end_did_to_the_others_is_no_new_cause():
    roles = [{"name": "a", "policy": "abort"}, {"name": "b", "policy": "restart-run"}]
    first = ask(roles, [state("a", 0, "Failed"), state("b", 0, "Running")], retries=5)
    after = ask(roles, [state("a", 0, "Failed"), state("b", 0, "Terminating")], present=(), retries=5)
    assert first == after
    late = NOW + timedelta(seconds=11)
    timed = ask(ONE, [state("worker", 0, "Terminating")], present=(), now=late, time_limit=10, retries=5)
    assert timed.outcome is Outcome.TIMED_OUT


def test_success_comes_before_a_stop_and_a_stop_before_everything_else():
    assert ask(ONE, [state("worker", 0, "Succeeded")], stop=NOW).outcome is Outcome.SUCCEEDED
    assert ask(ONE, [state("worker", 0, "Failed")], stop=NOW, retries=3).outcome is Outcome.STOPPED
    assert ask(ONE, [], present=(), stop=NOW).outcome is Outcome.STOPPED


def test_a_pod_is_replaced_with_one_more_on_its_count_until_it_is_enough():
    roles = [{"name": "worker", "policy": "restart-pod"}]
    assert ask(roles, [state("worker", 0, "Failed", restarts=1)], present=()).create == {("worker", 0): 2}
    assert ask(roles, [state("worker", 0, "Failed", restarts=1)]).remove == (("worker", 0),)
    assert ask(roles, [state("worker", 0, "Failed", restarts=3)]).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "distributed, roles, succeeded, wanted",
    [
        ("tensorflow", ["ps", "worker"], ["worker"], True),
        ("tensorflow", ["ps"], ["ps"], True),
        ("tensorflow", ["chief", "worker", "evaluator"], ["chief", "worker"], True),
        ("tensorflow", ["chief", "ps", "worker", "evaluator"], ["chief"], False),
        ("tensorflow", ["worker", "evaluator"], ["evaluator"], False),
        ("none", ["trainer", "evaluator"], ["trainer"], False),
        ("mpi", ["launcher", "worker"], ["launcher"], True),
        ("mpi", ["launcher", "worker"], ["worker"], False),
        ("none", ["a", "b"], ["a"], False),
    ],
)
def test_whose_success_is_the_runs(distributed, roles, succeeded, wanted):
    states = [state(name, 0, "Succeeded" if name in succeeded else "Running") for name in roles]
    reply = ask([{"name": name} for name in roles], states, distributed=distributed)
    assert isinstance(reply, Finish) is wanted


@pytest.mark.parametrize("policy", ["restart-run", "restart-pod", "abort", "delete"])
@pytest.mark.parametrize(
    "reason", ["UnexpectedAdmissionError", "OutOfcpu", "OutOfnvidia.com/gpu", "MatchNodeSelector"]
)
def test_a_pod_that_its_node_did_not_take_is_replaced_whatever_the_policy(policy, reason):
    roles = [{"name": "worker", "policy": policy, "replicas": 2}]
    states = [state("worker", 0, "Running"), state("worker", 1, "Failed", reason=reason, restarts=1)]
    place = ("worker", 1)
    assert ask(roles, states) == Proceed({}, (place,))
    assert ask(roles, states, present=[("worker", 0)]) == Proceed({place: 2})


def test_what_no_node_takes_fails_in_the_end_and_a_real_failure_beside_it_counts():
    refused = state("worker", 1, "Failed", reason="OutOfpods", restarts=3)
    roles = [{"name": "worker", "policy": "restart-run", "replicas": 2}]
    reply = ask(roles, [state("worker", 0, "Running"), refused])
    assert (
        isinstance(reply, Finish) and reply.outcome is Outcome.FAILED and "replaced 3 times" in reply.reason
    )
    again = ask(
        roles, [state("worker", 0, "Failed"), state("worker", 1, "Failed", reason="OutOfpods")], retries=1
    )
    assert isinstance(again, Restart)


def test_a_time_limit_begins_when_all_pods_have_nodes_and_not_at_the_admission():
    reply = Spec.model_validate({"image": "i", "roles": ONE, "time_limit": 10})
    for started, now in (
        (None, NOW + timedelta(days=3)),
        (NOW + timedelta(days=3), NOW + timedelta(days=3, seconds=9)),
    ):
        found = decide(run(reply, started=started), reply, {}, (), now)
        assert isinstance(found, Proceed)
        assert found.until == (started and started + timedelta(seconds=10))
