"""What is to be done about a run, decided from the database and the states of its pods alone.

The decision is the same each time it is asked with the same database: an operator that was killed between any two steps
comes to the same end (N8). Causes come in this order: success, a stop, a failure that ends the run, the time limit, a
failure that starts the run or a pod again. A pod that its node did not take is replaced whatever the policy: it has not failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ava.domain import pod_failures
from ava.domain.model import Outcome, PodState, Run
from ava.domain.phrases import Phrase, sentences
from ava.domain.pod_status import ENDED
from ava.domain.spec import Distributed, Policy, Role, Spec
from ava.domain.states import explain
from ava.operator.manifests.hostfile import launcher
from ava.operator.manifests.tf_config import EVALUATOR

Place = tuple[str, int]
"""Role and index."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The run continues.

    Attributes:
        create: places without a pod that shall have one, and how often each was replaced before.
        remove: places whose failed pod goes, so that a new one can come.
        until: when to look again although nothing changed; None: no time limit.
    """

    create: Mapping[Place, int]
    remove: Collection[Place] = ()
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """The whole run is started again with the next attempt."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """All pods go; then the run is finished.

    Attributes:
        now: without the time to say good-bye.
    """

    outcome: Outcome
    reason: str
    now: bool = False


Decision = Proceed | Restart | Finish


def enders(spec: Spec) -> tuple[Role, ...]:
    """Return the roles whose success is the run's: those that say so, MPI's launcher, else all but parameter servers.

    TensorFlow's evaluator is left out too: it waits for checkpoints as long as it lives.
    """
    reply = tuple(role for role in spec.roles if role.ends_run)
    if reply:
        return reply
    if spec.distributed is Distributed.MPI and len(spec.roles) > 1:
        return (launcher(spec),)
    servers = {"ps", EVALUATOR} if spec.distributed is Distributed.TENSORFLOW else {"ps"}
    return tuple(role for role in spec.roles if role.name not in servers) or spec.roles


def decide(
    run: Run,
    spec: Spec,
    states: Mapping[Place, PodState],
    present: Collection[Place],
    now: datetime,
    *,
    pod_restarts: int = 20,
) -> Decision:
    """Return what is to be done.

    Args:
        run: admitted.
        spec: the run's.
        now: the time, UTC.
        states: what is known of the places of the run's present attempt (podstate.merge); none for a pod never seen.
        present: places that have a pod now.
        pod_restarts: a pod of a role with ``restart-pod``, or one that nodes do not take, is replaced so often within an attempt.
    """
    if _all_succeeded(enders(spec), states):
        return Finish(Outcome.SUCCEEDED, "")
    if run.stop is not None:
        # The database knows who asked.
        return Finish(Outcome.STOPPED, "")
    limit = _limit(run, spec)
    failures = {place: state for place, state in states.items() if state.phase == "Failed"}
    refused = {place: state for place, state in failures.items() if pod_failures.refused(state.reason)}
    report = {place: state for place, state in failures.items() if place not in refused}
    end = _end(run, spec, report, pod_restarts) or _worn(
        [s for _, s in sorted(refused.items())], pod_restarts
    )
    if end is None and limit is not None and now >= limit:
        end = Finish(
            Outcome.TIMED_OUT,
            Phrase("It ran for its time limit of {seconds} s.", seconds=spec.time_limit or 0),
        )
    if end is not None:
        return end
    # Only now those that are gone without a word: of a run that ends for another cause they were taken away.
    failed = report | {p: _lost(s) for p, s in states.items() if _is_lost(p, s, present)}
    again = _of(spec, failed, Policy.RESTART_RUN)
    return (
        _end(run, spec, failed, pod_restarts)
        or (Restart(explain(again[0])) if again else None)
        or _go_on(spec, states, failed | refused, present, limit)
    )


def _end(run: Run, spec: Spec, failed: Mapping[Place, PodState], pod_restarts: int) -> Finish | None:
    """Return the end that failures bring about, None where the run may continue or start again."""
    for policy in (Policy.DELETE, Policy.ABORT):
        if causes := _of(spec, failed, policy):
            return Finish(Outcome.ABORTED, explain(causes[0]), now=policy is Policy.DELETE)
    if worn := _worn(_of(spec, failed, Policy.RESTART_POD), pod_restarts):
        return worn
    again = _of(spec, failed, Policy.RESTART_RUN)
    if again and run.attempt >= spec.retries:
        lost = all(state.reason in pod_failures.LOST for state in again)
        tried = Phrase("It was started {count} times.", count=run.attempt + 1) if run.attempt else ""
        return Finish(Outcome.LOST if lost else Outcome.FAILED, sentences(explain(again[0]), tried))
    return None


def _worn(states: Sequence[PodState], pod_restarts: int) -> Finish | None:
    """Return the end for a place whose pod was replaced as often as it may be, None where there is none."""
    worn = [s for s in states if s.restarts >= pod_restarts]
    return (
        Finish(
            Outcome.FAILED,
            sentences(explain(worn[0]), Phrase("It was replaced {count} times.", count=pod_restarts)),
        )
        if worn
        else None
    )


def _of(spec: Spec, failed: Mapping[Place, PodState], policy: Policy) -> list[PodState]:
    """Return the failed states of roles with a policy, in the order of their places."""
    roles = {role.name for role in spec.roles if role.policy is policy}
    return [state for place, state in sorted(failed.items()) if place[0] in roles]


def _go_on(
    spec: Spec,
    states: Mapping[Place, PodState],
    failed: Mapping[Place, PodState],
    present: Collection[Place],
    limit: datetime | None,
) -> Proceed:
    create: dict[Place, int] = {}
    for role in spec.roles:
        for index in range(role.replicas):
            place = (role.name, index)
            state = states.get(place)
            if place in present or (state is not None and state.phase == "Succeeded"):
                continue
            if place in failed:
                create[place] = failed[place].restarts + 1
            else:
                create[place] = state.restarts if state is not None else 0
    return Proceed(create, tuple(sorted(p for p in failed if p in present)), limit)


def _is_lost(place: Place, state: PodState, present: Collection[Place]) -> bool:
    """Return whether a pod that had a node is gone without having ended. One that never had a node is simply made again."""
    return place not in present and state.phase not in ENDED and bool(state.node)


def _lost(state: PodState) -> PodState:
    if state.reason == pod_failures.NODE_LOST:
        # Why it went is known: its node did not answer for long.
        return replace(state, phase="Failed", exit_code=None)
    return replace(state, phase="Failed", reason=pod_failures.POD_LOST, message="", exit_code=None)


def _all_succeeded(roles: tuple[Role, ...], states: Mapping[Place, PodState]) -> bool:
    return all(
        (state := states.get((role.name, index))) is not None and state.phase == "Succeeded"
        for role in roles
        for index in range(role.replicas)
    )


def _limit(run: Run, spec: Spec) -> datetime | None:
    """Return when a run ends by its time limit, which begins when all its pods have had their nodes."""
    if spec.time_limit is None or run.started is None:
        return None
    return run.started + timedelta(seconds=spec.time_limit or 0)
