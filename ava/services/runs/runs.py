"""Runs: list, show, stop, and why one is where it is."""

from __future__ import annotations

from collections.abc import Sequence

from ava.domain import states
from ava.domain.model import Kind, Phase, Run
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, from_stored
from ava.schemas.common import Paged
from ava.schemas.definitions import RunMake
from ava.schemas.runs import PodOut, RunOut, RunsQuery, Why
from ava.services import pagination, serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find
from ava.services.runs import leaving, submit

LOOKED_AT = 1000
"""Waiting runs that are looked at, as the scheduler does."""


def find_run(context: Context, caller: Caller, id: str, action: str) -> Run:
    """Return a run that the caller may do this with; ApiError 404 for every other."""
    found = find(context.db.runs.get, "run", id, "path.id")
    authorize(context, caller, action, owner=found.owner, what=Phrase("run {id}", id=id), where="path.id")
    return found


def with_states(context: Context, caller: Caller, runs: Sequence[Run]) -> list[RunOut]:
    """Return runs with the states that are shown: one question for all their pods."""
    open_ones = [run.id for run in runs if run.phase is Phase.ADMITTED]
    pods = context.db.pods.list(open_ones) if open_ones else {}
    signs = context.db.heartbeats.list() if open_ones else {}
    alive = {run.id: sign[0] for run in runs if (sign := signs.get(states.watcher(run.cluster))) is not None}
    now, drained = context.clock(), leaving.leaving(context, runs, pods)
    return [
        serializers.run(run, pods.get(run.id, ()), now, alive.get(run.id), *leaving.notice(run, drained))
        for run in runs
    ]


def list_runs(context: Context, caller: Caller, query: RunsQuery) -> Paged[RunOut]:
    """Return runs, newest first."""
    others = query.all or query.owner not in (None, "me", caller.me.name)
    authorize(context, caller, "runs.list-all" if others else "runs.list")
    owner = query.owner if query.owner not in (None, "me") else None if query.all else caller.me.name
    scope = f"runs {query.all} {owner} {query.kind} {query.phase} {query.definition} {query.group}"
    found = context.db.runs.list(
        owner=owner,
        group=query.group,
        definition=query.definition,
        kind=Kind(query.kind) if query.kind else None,
        phase=Phase(query.phase) if query.phase else None,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    rows = iter(with_states(context, caller, found.items))
    return pagination.page(context, caller, found, scope, lambda _: next(rows))


def make_run(context: Context, caller: Caller, body: RunMake, idempotency_key: str | None = None) -> RunOut:
    """Store a definition and start it, both or neither. The same key again is the same run."""
    authorize(context, caller, "runs.make")
    key = submit.key_of(idempotency_key, body.key)
    submit.check(context, caller, caller.me, body.spec)
    kind = Kind(body.spec.kind)
    with record_change(context, caller, "runs.make", f"{kind} {body.name}"):
        run = submit.submit(context, caller, kind, body.name, body.spec, key, replace=body.replace)
    return with_states(context, caller, [run])[0]


def show_run(context: Context, caller: Caller, id: str) -> RunOut:
    """Return a run."""
    return with_states(context, caller, [find_run(context, caller, id, "runs.show")])[0]


def stop_run(context: Context, caller: Caller, id: str) -> RunOut:
    """Ask for a run's end; it is charged until its pods are gone. Idempotent."""
    found = find_run(context, caller, id, "runs.stop")
    with record_change(context, caller, "runs.stop", f"run {found.id}", owner=found.owner):
        stopped = context.db.runs.stop(found.id, context.clock(), by=caller.me.name)
    return with_states(context, caller, [stopped])[0]


def list_pods(context: Context, caller: Caller, id: str) -> list[PodOut]:
    """Return what was last seen of a run's pods."""
    found = find_run(context, caller, id, "runs.pods")
    pods = context.db.pods.list([found.id]).get(found.id, ())
    return [serializers.pod(p) for p in sorted(pods, key=lambda p: (p.attempt, p.role, p.index))]


def explain(context: Context, caller: Caller, id: str) -> Why:
    """Return why a run waits, does not start or has ended, each cause with what to do."""
    found = find_run(context, caller, id, "runs.why")
    db = context.db
    state = with_states(context, caller, [found])[0]
    reasons = (
        [serializers.reason(from_stored(r)) for r in found.waits_for]
        if found.phase is not Phase.FINISHED
        else []
    )
    pods = db.pods.list([found.id])
    drained = leaving.leaving(context, [found], pods)
    reasons += [serializers.reason(one) for one in leaving.reason(found, drained)]
    for pod in pods.get(found.id, ()):
        if pod.attempt == found.attempt and (reply := states.explain(pod)):
            problem = Problem(
                pod.reason or "pod",
                reply,
                f"pod {pod.pod}",
                pod.phase,
                Phrase("Running"),
                Phrase("Read its log: `ava logs`."),
            )
            reasons.append(serializers.reason(problem))
    position = None
    if found.phase is Phase.QUEUED:
        ahead = [run.id for run in db.runs.waiting(LOOKED_AT) if run.queue == found.queue]
        position = ahead.index(found.id) if found.id in ahead else None
    return Why(run=found.id, state=state.state, reason=state.reason, position=position, reasons=reasons)
