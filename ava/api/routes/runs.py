"""Runs: start, list, stop, and why one is where it is."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged
from ava.schemas.definitions import RunMake
from ava.schemas.runs import PodOut, RunOut, RunsQuery, Why
from ava.services.runs import runs, watch

routes = router("runs")
LONGEST_WAIT = 30
"""Seconds."""


@routes.get("/runs")
def list_runs(
    context: CurrentContext, caller: Someone, query: Annotated[RunsQuery, Query()]
) -> Paged[RunOut]:
    """Return runs, newest first."""
    return runs.list_runs(context, caller, query)


@routes.post("/runs", status_code=201)
def make_run(
    body: RunMake,
    context: CurrentContext,
    caller: Someone,
    response: Response,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> RunOut:
    """Store a definition and start it, both or neither. The same Idempotency-Key again answers the same run."""
    run = runs.make_run(context, caller, body, idempotency_key)
    response.headers["location"] = f"/api/v1/runs/{run.id}"
    return run


@routes.get(
    "/runs/{id}",
    response_model=RunOut,
    responses={304: {"description": "The run is as `If-None-Match` says"}},
)
async def show_run(
    id: Ref,
    context: CurrentContext,
    caller: Someone,
    request: Request,
    response: Response,
    wait: Annotated[int, Query(ge=0, le=LONGEST_WAIT)] = 0,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Any:
    """Return a run. With `If-None-Match` (the `ETag` of an answer) and `wait` the answer comes once the run has changed.

    It comes after `wait` seconds at the latest, with status 304 where nothing has.
    """
    known = if_none_match.removeprefix("W/").strip('"') if if_none_match is not None else None
    run, waited = await watch.wait_for_change(context, caller, id, known, wait)
    # What a client has asked to wait is no answer's delay.
    request.state.waited = waited
    tag = watch.tag(run)
    response.headers["etag"] = f'"{tag}"'
    return Response(status_code=304, headers={"etag": f'"{tag}"'}) if tag == known else run


@routes.post("/runs/{id}/stop", status_code=202)
def stop_run(id: Ref, context: CurrentContext, caller: Someone) -> RunOut:
    """Ask for a run's end; it is charged until its pods are gone. Idempotent."""
    return runs.stop_run(context, caller, id)


@routes.get("/runs/{id}/pods")
def list_pods(id: Ref, context: CurrentContext, caller: Someone) -> list[PodOut]:
    """Return what was last seen of a run's pods."""
    return runs.list_pods(context, caller, id)


@routes.get("/runs/{id}/why")
def why(id: Ref, context: CurrentContext, caller: Someone) -> Why:
    """Return why a run waits, does not start or has ended, each cause with what to do."""
    return runs.explain(context, caller, id)
