"""Runs: the list, one run with its pods and why it is where it is, stop, start again, scale."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Response

from ava.domain.model import Kind, Phase, Run
from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.definitions import Start
from ava.schemas.model_services import Scale
from ava.schemas.runs import RunsQuery
from ava.services import definitions, model_services, node_drains
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.logs import run_logs
from ava.services.runs import runs
from ava.services.workbenches import workbenches
from ava.web import definition_form, forms, labels
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 25
FILTERS = ("kind", "phase", "group", "owner", "definition")


@routes.get("/runs")
def list_runs(visit: Someone) -> Response:
    """Show a page of runs."""
    asked = visit.request.query_params
    chosen: dict[str, Any] = {name: asked[name] for name in FILTERS if asked.get(name)}
    all_users = asked.get("all") == "1"
    query = forms.as_model(
        RunsQuery, chosen | {"all": all_users, "limit": PAGE, "after": asked.get("after") or None}
    )
    found = runs.list_runs(visit.context, visit.caller, query)
    return visit.page(
        "runs.html",
        runs=found.items,
        next=found.next,
        chosen=chosen,
        all_users=all_users,
        first=not query.after,
    )


def _run(visit: PageRequest, id: str) -> dict[str, Any]:
    """Return what the page of a run shows."""
    found = runs.find_run(visit.context, visit.caller, id, "runs.show")
    run = runs.with_states(visit.context, visit.caller, [found])[0]
    pods = runs.list_pods(visit.context, visit.caller, id)
    return {
        "run": run,
        "ended": found.phase is Phase.FINISHED,
        "pods": [p for p in pods if p.attempt == run.attempt],
        "former": [p for p in pods if p.attempt != run.attempt],
        "why": runs.explain(visit.context, visit.caller, id),
        "mine": found.owner == visit.caller.me.name,
        "spec": found.spec,
        "logs_kept": run_logs.kept(visit.context),
        "service": model_services.show_service(visit.context, visit.caller, id)
        if found.kind is Kind.SERVICE
        else None,
        "bench": workbenches.show_workbench(visit.context, visit.caller, found.definition)
        if _is_bench(visit.context, visit.caller, found)
        else None,
    }


def _is_bench(context: Context, caller: Caller, run: Run) -> bool:
    """Whether a run is of a workbench that is still stored."""
    if run.kind is not Kind.WORKBENCH:
        return False
    try:
        context.db.definitions.get(run.definition)
    except ApiError as refused:
        if refused.status != 404:
            raise
        return False
    return True


@routes.get("/runs/{id}")
def show(id: Ref, visit: Someone) -> Response:
    """Show a run."""
    return _page(visit, id)


def _page(visit: PageRequest, id: str, refused: ApiError | None = None) -> Response:
    data = _run(visit, id)
    text = definition_form.written(data["spec"])
    section = f"/{labels.PLURALS[data['run'].kind]}"
    return visit.page("run.html", refused=refused, **data, text=text, values=visit.form, section=section)


@routes.get("/runs/{id}/now")
def now(id: Ref, visit: Someone) -> Response:
    """Show what changes of a run, for htmx, which asks until the run has ended."""
    return visit.page("run_part.html", **_run(visit, id))


@routes.post("/runs/{id}/stop")
def stop(id: Ref, visit: Someone) -> Response:
    """Ask for the end of a run."""
    runs.stop_run(visit.context, visit.caller, id)
    return visit.go(f"/runs/{id}", done="stopped")


@routes.post("/runs/{id}/consent")
def consent(id: Ref, visit: Someone) -> Response:
    """Agree that a training is ended for maintenance of its node."""
    return visit.changed(
        lambda: node_drains.consent(visit.context, visit.caller, id),
        partial(_page, visit, id),
        f"/runs/{id}",
        "agreed",
    )


@routes.post("/runs/{id}/scale")
def scale(id: Ref, visit: Someone) -> Response:
    """Set how many replicas of a service are wanted."""

    def change() -> None:
        body = forms.as_model(Scale, {"replicas": forms.whole(visit.form.text("replicas"))})
        model_services.scale(visit.context, visit.caller, id, body)

    return visit.changed(change, partial(_page, visit, id), f"/runs/{id}", "scaled")


@routes.post("/definitions/{id}/start")
def again(id: Ref, visit: Someone) -> Response:
    """Start a stored definition; the key of the form makes two clicks one run."""
    body = forms.as_model(Start, {"key": visit.form.given("key")})
    run = definitions.start(visit.context, visit.caller, id, body)
    return visit.go(f"/runs/{run.id}", done="started")
