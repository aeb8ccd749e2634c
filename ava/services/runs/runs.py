"""Runs: list, show, stop, and why one is where it is."""

from __future__ import annotations

from collections.abc import Sequence

from ava.domain import states
from ava.domain.model import Kind, Phase, Run
from ava.domain.problems import Problem
from ava.schemas.common import Paged
from ava.schemas.definitions import RunMake
from ava.schemas.runs import PodOut, RunOut, RunsQuery, Why
from ava.services import pagination, serializers
from ava.services.auth.caller import Caller
from ava.services.lookup import find
from ava.services.runs import submit

LOOKED_AT = 1000
"""Waiting runs that are looked at, as the scheduler does."""


def find_run(who: Caller, id: str, action: str) -> Run:
    """Return a run that the caller may do this with; ApiError 404 for every other."""
    found = find(who.services.store.run, "run", id, "path.id")
    who.may(action, owner=found.owner, what=f"run {id}", where="path.id")
    return found


def with_states(who: Caller, runs: Sequence[Run]) -> list[RunOut]:
    """Return runs with the states that are shown: one question for all their pods."""
    services = who.services
    open_ones = [run.id for run in runs if run.phase is Phase.ADMITTED]
    pods = services.store.pods(open_ones) if open_ones else {}
    signs = services.store.heartbeats() if open_ones else {}
    alive = {run.id: sign[0] for run in runs if (sign := signs.get(states.watcher(run.cluster))) is not None}
    now = services.clock()
    return [serializers.run(run, pods.get(run.id, ()), now, alive.get(run.id)) for run in runs]


def list_runs(who: Caller, query: RunsQuery) -> Paged[RunOut]:
    """Return runs, newest first."""
    others = query.all or query.owner not in (None, "me", who.me.name)
    who.may("runs.list-all" if others else "runs.list")
    owner = query.owner if query.owner not in (None, "me") else None if query.all else who.me.name
    scope = f"runs {query.all} {owner} {query.kind} {query.phase} {query.definition} {query.group}"
    found = who.services.store.runs(
        owner=owner,
        group=query.group,
        definition=query.definition,
        kind=Kind(query.kind) if query.kind else None,
        phase=Phase(query.phase) if query.phase else None,
        after=pagination.opened(who, query, scope),
        limit=query.limit,
    )
    rows = iter(with_states(who, found.items))
    return pagination.page(who, found, scope, lambda _: next(rows))


def make_run(who: Caller, body: RunMake, idempotency_key: str | None = None) -> RunOut:
    """Store a definition and start it, both or neither. The same key again is the same run."""
    who.may("runs.make")
    key = submit.key_of(idempotency_key, body.key)
    submit.check(who, who.me, body.spec)
    kind = Kind(body.spec.kind)
    with who.change("runs.make", f"{kind} {body.name}"):
        run = submit.submit(who, kind, body.name, body.spec, key, replace=body.replace)
    return with_states(who, [run])[0]


def show_run(who: Caller, id: str) -> RunOut:
    """Return a run."""
    return with_states(who, [find_run(who, id, "runs.show")])[0]


def stop_run(who: Caller, id: str) -> RunOut:
    """Ask for a run's end; it is charged until its pods are gone. Twice does no harm."""
    found = find_run(who, id, "runs.stop")
    with who.change("runs.stop", f"run {found.id}", owner=found.owner):
        stopped = who.services.store.stop(found.id, who.services.clock(), by=who.me.name)
    return with_states(who, [stopped])[0]


def list_pods(who: Caller, id: str) -> list[PodOut]:
    """Return what was last seen of a run's pods."""
    found = find_run(who, id, "runs.pods")
    pods = who.services.store.pods([found.id]).get(found.id, ())
    return [serializers.pod(p) for p in sorted(pods, key=lambda p: (p.attempt, p.role, p.index))]


def explain(who: Caller, id: str) -> Why:
    """Return why a run waits, does not start or has ended, each cause with what to do."""
    found = find_run(who, id, "runs.why")
    store = who.services.store
    state = with_states(who, [found])[0]
    reasons = [serializers.reason(r) for r in found.waits_for] if found.phase is not Phase.FINISHED else []
    for pod in store.pods([found.id]).get(found.id, ()):
        if pod.attempt == found.attempt and (said := states.explain(pod)):
            problem = Problem(
                pod.reason or "pod", said, f"pod {pod.pod}", pod.phase, "Running", "Read its log: `ava logs`."
            )
            reasons.append(serializers.reason(problem.as_dict()))
    position = None
    if found.phase is Phase.QUEUED:
        ahead = [run.id for run in store.waiting(LOOKED_AT) if run.queue == found.queue]
        position = ahead.index(found.id) if found.id in ahead else None
    return Why(run=found.id, state=state.state, reason=state.reason, position=position, reasons=reasons)
