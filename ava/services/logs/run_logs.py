"""Logs of a run's pods, for users who may see the run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ava.domain import labels
from ava.domain.model import Phase, Run
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.logs import LogQuery
from ava.services import metrics
from ava.services.auth import authentication
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.logs.follower import Follower
from ava.services.logs.interface import LogBackendUnavailable, LogLine, NoLogs, Target
from ava.services.runs.runs import find_run

Write = Callable[[LogLine], bytes]
_WHAT = "followed logs"


@dataclass(frozen=True, slots=True)
class RunLog:
    """The log of a run, or of one of its pods.

    Attributes:
        several: whether its lines may be of several pods.
    """

    run: Run
    target: Target
    several: bool


def kept(context: Context) -> bool:
    """Return whether the API has a source of logs."""
    return not isinstance(context.logs, NoLogs)


def find_log(context: Context, caller: Caller, id: str, pod: str | None) -> RunLog:
    """Return the log of a run that the caller may see.

    Raises:
        ApiError: 404: another run, a pod of another run, or the API has no source of logs.
    """
    run, pods = _look(context, caller, id)
    if not kept(context):
        what = Phrase("This site keeps no logs of runs.")
        remedy = Phrase("Ask an administrator for it: `components.logs` of the site file.")
        raise ApiError(404, Problem("logs-not-kept", what, "logs", "none", "", remedy))
    replicas = sum(int(role.get("replicas", 1)) for role in run.spec.get("roles") or [{}])
    return RunLog(run, _target(run, pods, pod), several=pod is None and replicas > 1)


def _look(context: Context, caller: Caller, id: str) -> tuple[Run, list[str]]:
    run = find_run(context, caller, id, "runs.logs")
    there = context.db.pods.list([run.id]).get(run.id, ())
    # A pod that waits has no log yet; Kubernetes answers 400 until its container has begun.
    return run, [p.pod for p in there if p.attempt == run.attempt and p.phase != "Pending"]


def _target(run: Run, pods: Sequence[str], pod: str | None) -> Target:
    prefix = f"{run.id}-"
    if pod is not None and not pod.startswith(prefix):
        raise ApiError(
            404,
            Problem(
                "not-found",
                Phrase("The run has no such pod."),
                "query.pod",
                pod,
                f"{prefix}…",
                Phrase("See `pods` of the run."),
            ),
        )
    chosen = (pod,) if pod else tuple(pods)
    live = run.phase is Phase.ADMITTED
    return Target(
        run.cluster, labels.namespace(run.group), prefix, chosen if live or pod else (), pod is not None
    )


async def read(context: Context, log: RunLog, query: LogQuery) -> Sequence[LogLine]:
    """Return the newest lines; ApiError 503 where no source answers."""
    if not query.tail:
        return []
    try:
        return await context.logs.read(log.target, since=query.since, limit=query.tail)
    except LogBackendUnavailable as error:
        problem = Problem(
            "logs-unavailable",
            Phrase("The logs cannot be read at the moment."),
            "logs",
            str(error)[:300],
            Phrase("a source that answers"),
            Phrase("Try again in a minute; tell an administrator if it stays."),
        )
        raise ApiError(503, problem) from error


def check_streams(context: Context, caller: Caller) -> None:
    """Return where the caller may follow one more log; ApiError 429 else."""
    context.rates.room(context.config.limits.streams, caller.me.name, _WHAT)


def _stream(context: Context, caller: Caller) -> AbstractContextManager[None]:
    return context.rates.one_of(context.config.limits.streams, caller.me.name, _WHAT)


async def follow(
    context: Context, caller: Caller, log: RunLog, query: LogQuery, write: Write
) -> AsyncIterator[bytes]:
    """Yield the newest lines and then further ones as they are written, until the run ends or the caller is logged out."""
    run, pod = log.run, (query.pod,) if query.pod else None

    def look() -> Sequence[str] | None:
        authentication.check(context, caller)
        now, pods = _look(context, caller, run.id)
        return None if now.phase is Phase.FINISHED else pod or pods

    with _stream(context, caller), metrics.STREAMS.track_inprogress():
        begin = query.since or datetime.now(UTC)
        try:
            last = (
                await context.logs.read(log.target, since=query.since, limit=query.tail) if query.tail else []
            )
            if query.tail and not last and query.since is None:
                # What was written just now may be on its way to the stores: nothing was there, so all is new.
                begin = run.created
        except LogBackendUnavailable:
            last = []
        for line in last:
            yield write(line)
        since = last[-1].time + timedelta(microseconds=1) if last else begin
        follower = Follower(context.logs, log.target, look, since)
        async for row in follower.rows(write, json=query.format == "json"):
            yield row
