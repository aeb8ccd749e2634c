"""What is shown of a run, as a table: phase, pods, the operator's last heartbeat → state and reason."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ava.domain.model import Kind, Outcome, Phase, PodState, Run
from ava.domain.pod_failures import ended
from ava.domain.resources import Resources
from ava.domain.states import STALE, State, explain, show

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
FRESH = NOW - timedelta(seconds=5)
RUN = Run(
    id="r1aaaaaaaaaaa",
    definition="d1aaaaaaaaaaa",
    kind=Kind.TRAINING,
    name="train",
    owner="ann",
    group="vision",
    queue="default",
    priority=50,
    cluster="default",
    key="k",
    spec={"roles": [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 2}]},
    asks=Resources(1, 1, 1),
    phase=Phase.ADMITTED,
    created=NOW,
)


def pod(phase, index=0, role="worker", **more):
    return PodState(RUN.id, f"{role}-{index}", role, index, more.pop("attempt", 0), phase, **more)


def three(*phases, **last):
    """Return the three pods of the run; what is stated of the last."""
    first, second, third = phases
    return [pod(first, role="ps"), pod(second, 0), pod(third, 1, **last)]


ADMITTED = [
    ("no pod yet", [], State.STARTING, "Its pods are being created."),
    ("one of three", [pod("Running")], State.STARTING, "1 of its 3 pods are created."),
    ("not all run", three("Running", "Running", "Pending"), State.STARTING, ""),
    ("all run", three("Running", "Running", "Running"), State.RUNNING, ""),
    ("some have ended well", three("Running", "Running", "Succeeded"), State.RUNNING, ""),
    ("one failed", three("Running", "Running", "Failed", exit_code=1), State.RUNNING, "exit code 1"),
    ("all ended", three("Succeeded", "Succeeded", "Succeeded"), State.STOPPING, ""),
    ("all end", three("Succeeded", "Terminating", "Terminating"), State.STOPPING, ""),
    (
        "out of memory",
        three("Failed", "Failed", "Failed", reason="OOMKilled", exit_code=137),
        State.STOPPING,
        "memory",
    ),
    (
        "a node is lost",
        three("Running", "Running", "Unknown", node="n1"),
        State.UNKNOWN,
        "node does not answer",
    ),
    (
        "lost by reason",
        three("Running", "Running", "Running", reason="NodeLost"),
        State.UNKNOWN,
        "does not answer",
    ),
    (
        "no image",
        three("Running", "Running", "Pending", reason="ImagePullBackOff"),
        State.STARTING,
        "cannot be pulled",
    ),
    (
        "no room",
        three("Running", "Pending", "Pending", reason="Unschedulable"),
        State.STARTING,
        "no node has enough free",
    ),
    ("unknown reason", three("Running", "Running", "Pending", reason="Odd"), State.STARTING, "Odd"),
    ("pods of an earlier attempt", [pod("Running", attempt=1)] * 3, State.STARTING, "are being created"),
    (
        "its node makes its container",
        three("Running", "Running", "Pending", node="n2", reason="ContainerCreating"),
        State.STARTING,
        "Pod worker 1 on n2: its node pulls its image and mounts its folders.",
    ),
    (
        "two start",
        three("Running", "Pending", "Pending", reason="AwaitingPeers")[:1]
        + [pod("Pending", n, reason="ContainerCreating") for n in range(2)],
        State.STARTING,
        "1 more pods are starting.",
    ),
    (
        "one starts, one is in trouble",
        [
            pod("Pending", reason="ContainerCreating", role="ps"),
            pod("Pending", 0, reason="ErrImagePull"),
            pod("Running", 1),
        ],
        State.STARTING,
        "Pod worker 0: its image cannot be pulled",
    ),
]


@pytest.mark.parametrize(("pods", "state", "reason"), [c[1:] for c in ADMITTED], ids=[c[0] for c in ADMITTED])
def test_an_admitted_run_is_shown_as_its_pods_are(pods, state, reason):
    shown = show(RUN, pods, NOW, FRESH)
    assert shown.state is state
    assert reason in shown.reason and bool(shown.reason) == bool(reason)


@pytest.mark.parametrize(
    ("age", "state"),
    [
        (timedelta(0), State.RUNNING),
        (STALE, State.RUNNING),
        (STALE + timedelta(milliseconds=1), State.UNKNOWN),
        (timedelta(days=9), State.UNKNOWN),
        (-timedelta(hours=1), State.RUNNING),
    ],
)
def test_what_no_one_has_looked_at_lately_is_unknown(age, state):
    assert show(RUN, three("Running", "Running", "Running"), NOW, NOW - age).state is state


def test_that_no_one_looks_is_the_reason():
    assert "for 90 s not" in show(RUN, [], NOW, NOW - timedelta(seconds=90)).reason
    never = show(replace(RUN, stop=NOW), [], NOW, None)
    assert never.state is State.UNKNOWN
    assert never.reason.startswith("Its end was asked for. ") and "never" in never.reason


def test_a_queued_run_says_why_whatever_the_operator_does():
    waits = (
        {"code": "quota-used-up", "what": "No room in group vision."},
        {"what": "No room in queue night."},
    )
    queued = replace(RUN, phase=Phase.QUEUED, waits_for=waits)
    for alive in (FRESH, None):
        shown = show(queued, [], NOW, alive)
        assert (shown.state, shown.reason) == (
            State.QUEUED,
            "No room in group vision. No room in queue night.",
        )


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_finished_run_is_what_the_database_says(outcome):
    finished = replace(RUN, phase=Phase.FINISHED, outcome=outcome, reason="Because.", finished=NOW)
    shown = show(finished, three("Running", "Running", "Running"), NOW, None)
    assert (shown.state.value, shown.reason) == (outcome.value, "Because.")


def test_a_run_to_be_stopped_says_how_many_pods_are_left():
    stopping = replace(RUN, stop=NOW)
    left = show(stopping, three("Succeeded", "Terminating", "Running"), NOW, FRESH)
    assert left.state is State.STOPPING and "2 of its pods" in left.reason
    assert show(stopping, [], NOW, FRESH).reason == "Its end was asked for."
    hung = show(stopping, three("Succeeded", "Succeeded", "Unknown", node="n7"), NOW, FRESH)
    assert "on n7: its node does not answer" in hung.reason


def test_a_later_attempt_is_shown_and_its_own_pods_are_counted():
    again = replace(RUN, attempt=1)
    assert (
        show(again, three("Running", "Running", "Running"), NOW, FRESH).reason
        == "Attempt 2. Its pods are being created."
    )
    pods = [replace(p, attempt=1) for p in three("Running", "Running", "Running")]
    assert show(again, pods, NOW, FRESH).state is State.RUNNING


def test_the_schedulers_reasons_are_shown_where_no_node_has_room():
    waits = replace(RUN, waits_for=({"what": "3 nodes have no free GPU."},))
    pods = three("Pending", "Pending", "Pending", reason="Unschedulable")
    assert show(waits, pods, NOW, FRESH).reason == "3 nodes have no free GPU."


def test_many_pods_with_one_trouble_are_shown_in_one_sentence():
    pods = [pod("Pending", n, reason="ErrImagePull") for n in range(3)]
    assert show(RUN, pods, NOW, FRESH).reason.endswith(" 2 more pods have trouble.")


def test_a_spec_without_roles_is_one_pod():
    assert show(replace(RUN, spec={}), [pod("Running")], NOW, FRESH).state is State.RUNNING


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (pod("Running"), ""),
        (pod("Succeeded", exit_code=0), ""),
        (pod("Pending"), ""),
        (pod("Failed", reason="OOMKilled", exit_code=137), "more memory than its limit"),
        (pod("Failed", exit_code=137), "ended by SIGKILL"),
        (pod("Failed", reason="Error", exit_code=143), "ended by SIGTERM"),
        (pod("Failed", exit_code=139), "ended by SIGSEGV"),
        (pod("Failed", exit_code=128 + 50), "ended by signal 50"),
        (pod("Failed", reason="Error", exit_code=2), "exit code 2"),
        (pod("Failed", reason="Error", exit_code=255), "exit code 255"),  # mpirun's
        (
            pod("Failed", reason="Evicted", message="The node was low on memory."),
            "evicted it (The node was low",
        ),
        (pod("Failed"), "it failed"),
        (pod("Unknown", node="n1"), "on n1: its node does not answer"),
        (pod("Failed", reason="DeadlineExceeded"), "time limit"),
    ],
)
def test_how_a_pod_ended_is_explained(state, words):
    assert words in explain(state) and bool(explain(state)) == bool(words)


@pytest.mark.parametrize("code", [126, 127])
def test_a_scripts_own_126_and_127_are_its_exit_code(code):
    own = ended({"exitCode": code, "reason": "Error", "message": "sh: 3: evaluate: not found"})
    assert own.code == "Error"
    assert f"exit code {code}" in explain(
        pod("Failed", reason=own.code, message=own.text, exit_code=own.exit_code)
    )
    tini = "[FATAL tini (7)] exec /no/such/file failed: No such file or directory"
    init = "ava-init: exec /no/such/file: no such file or directory"
    for never in (
        {"reason": "ContainerCannotRun"},
        {"reason": "Error", "message": init},
        {"reason": "Error", "message": f"warm up\n{tini}\n"},
    ):
        why = ended(never | {"exitCode": code})
        assert "cannot be started" in explain(pod("Failed", reason=why.code, exit_code=why.exit_code))


def test_a_pods_own_words_are_one_short_line():
    reply = explain(pod("Failed", exit_code=1, message="line\n\x1b[31mred\0 " + "x" * 5000))
    assert reply.isprintable() and len(reply) < 450
