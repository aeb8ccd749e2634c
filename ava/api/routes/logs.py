"""Logs of a run's pods, kept ones and as they are written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ava.domain import labels
from ava.domain.model import Phase, Run
from ava.domain.problems import ApiError, Problem
from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.encoding import encode
from ava.services import metrics
from ava.services.auth import recent_login
from ava.services.auth.caller import Caller
from ava.services.auth.permissions import unauthenticated
from ava.services.context import Context
from ava.services.logs.follower import Follower
from ava.services.logs.interface import LogBackendUnavailable, LogLine, Target
from ava.services.runs.runs import find_run

routes = router("logs")
Write = Callable[[LogLine], bytes]


class LogQuery(BaseModel):
    """Which lines."""

    model_config = ConfigDict(extra="forbid")
    follow: bool = False
    tail: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """The newest ones at most; with ``follow`` those before the first new one."""
    since: AwareDatetime | None = None
    pod: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9.-]+$")] | None = None
    format: Literal["text", "json"] = "text"
    """json: a line is ``{"time", "pod", "text"}``, the last one of a followed log ``{"end": why}``."""
    timestamps: bool = False


@routes.get(
    "/runs/{id}/logs",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}, "application/x-ndjson": {}}}},
)
async def logs(
    id: Ref, context: CurrentContext, caller: Someone, query: Annotated[LogQuery, Query()]
) -> Response:
    """Return the lines of a run's pods; with ``follow`` they come as they are written, until the run ends."""
    run, pods = await run_in_threadpool(_look, context, caller, id)
    target = _target(run, pods, query)
    write, kind = _form(query, several=not query.pod and _several(run))
    if query.follow:
        # The answer's head is sent before the generator begins: what is refused is refused here.
        context.rates.room(context.config.limits.streams, caller.me.name, "followed logs")
        return StreamingResponse(_followed(context, caller, run, target, query, write), media_type=kind)
    try:
        lines = await context.logs.read(target, since=query.since, limit=query.tail) if query.tail else []
    except LogBackendUnavailable as error:
        raise _down(str(error)) from error
    return Response(b"".join(write(line) for line in lines), media_type=kind)


def _look(context: Context, caller: Caller, id: str) -> tuple[Run, list[str]]:
    run = find_run(context, caller, id, "runs.logs")
    there = context.store.pods([run.id]).get(run.id, ())
    # A pod that waits has no log yet; Kubernetes answers 400 until its container has begun.
    return run, [p.pod for p in there if p.attempt == run.attempt and p.phase != "Pending"]


def _target(run: Run, pods: Sequence[str], query: LogQuery) -> Target:
    prefix = f"{run.id}-"
    if query.pod is not None and not query.pod.startswith(prefix):
        raise ApiError(
            404,
            Problem(
                "not-found",
                "The run has no such pod.",
                "query.pod",
                query.pod,
                f"{prefix}…",
                "See `pods` of the run.",
            ),
        )
    chosen = (query.pod,) if query.pod else tuple(pods)
    live = run.phase is Phase.ADMITTED
    return Target(
        run.cluster,
        labels.namespace(run.group),
        prefix,
        chosen if live or query.pod else (),
        query.pod is not None,
    )


def _several(run: Run) -> bool:
    return sum(int(role.get("replicas", 1)) for role in run.spec.get("roles") or [{}]) > 1


def _form(query: LogQuery, *, several: bool) -> tuple[Write, str]:
    """Return how a line is written, and the answer's media type."""

    def as_json(line: LogLine) -> bytes:
        return encode({"time": _time(line), "pod": line.pod, "text": line.text}) + b"\n"

    def as_text(line: LogLine) -> bytes:
        head = (f"{_time(line)} " if query.timestamps else "") + (f"{line.pod} | " if several else "")
        return f"{head}{line.text}\n".encode("utf-8", "replace")

    return (
        (as_json, "application/x-ndjson")
        if query.format == "json"
        else (as_text, "text/plain; charset=utf-8")
    )


def _time(line: LogLine) -> str:
    return line.time.isoformat(timespec="microseconds").replace("+00:00", "Z")


async def _followed(
    context: Context, caller: Caller, run: Run, target: Target, query: LogQuery, write: Write
) -> AsyncIterator[bytes]:
    pod = (query.pod,) if query.pod else None

    def look() -> Sequence[str] | None:
        user = context.store.authenticate(caller.kind, caller.digest, context.clock())
        if user is None or not recent_login.is_recent(context, user):
            raise unauthenticated()
        now, pods = _look(context, caller, run.id)
        return None if now.phase is Phase.FINISHED else pod or pods

    with (
        context.rates.one_of(context.config.limits.streams, caller.me.name, "followed logs"),
        metrics.STREAMS.track_inprogress(),
    ):
        begin = query.since or datetime.now(UTC)
        try:
            last = await context.logs.read(target, since=query.since, limit=query.tail) if query.tail else []
            if query.tail and not last and query.since is None:
                # What was written just now may be on its way to the stores: nothing was there, so all is new.
                begin = run.created
        except LogBackendUnavailable:
            last = []
        for line in last:
            yield write(line)
        since = last[-1].time + timedelta(microseconds=1) if last else begin
        follower = Follower(context.logs, target, look, since)
        async for row in follower.rows(write, json=query.format == "json"):
            yield row


def _down(why: str) -> ApiError:
    problem = Problem(
        "logs-unavailable",
        "The logs cannot be read at the moment.",
        "logs",
        why[:300],
        "a source that answers",
        "Try again in a minute; tell an administrator if it stays.",
    )
    return ApiError(503, problem)
