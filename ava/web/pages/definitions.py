"""Stored definitions: trainings, workbenches and services, each with what of it runs."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.http.routing import Ref
from ava.schemas.definitions import DefinitionsQuery
from ava.schemas.model_services import ServiceOut
from ava.schemas.runs import RunOut, RunsQuery
from ava.services import definitions, model_services
from ava.services.runs import runs
from ava.services.workbenches import workbenches
from ava.web import definition_form, forms, labels
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 25


@routes.get("/trainings")
def trainings(visit: Someone) -> Response:
    """Show one's own trainings."""
    return _list(visit, "training")


@routes.get("/workbenches")
def list_workbenches(visit: Someone) -> Response:
    """Show one's own workbenches."""
    return _list(visit, "workbench")


@routes.get("/services")
def list_services(visit: Someone) -> Response:
    """Show one's own services."""
    return _list(visit, "service")


def _list(visit: PageRequest, kind: str) -> Response:
    asked = visit.request.query_params
    query = forms.as_model(
        DefinitionsQuery, {"kind": kind, "limit": PAGE, "after": asked.get("after") or None}
    )
    found = definitions.list_definitions(visit.context, visit.caller, query)
    last = _last(visit, kind)
    return visit.page(
        "definitions.html",
        kind=kind,
        definitions=found.items,
        next=found.next,
        first=not query.after,
        last=last,
        serving=_serving(visit, [last[d.id] for d in found.items if d.id in last]),
        key=forms.new_key(),
    )


def _last(visit: PageRequest, kind: str) -> dict[str, RunOut]:
    """Return the newest run of each definition: of those at work, and of the newest hundred."""
    found: dict[str, RunOut] = {}
    for phase, most in (("admitted", 100), ("queued", 100), (None, 100)):
        query = forms.as_model(RunsQuery, {"kind": kind, "phase": phase, "limit": most})
        for run in runs.list_runs(visit.context, visit.caller, query).items:
            found.setdefault(run.definition, run)
    return found


def _serving(visit: PageRequest, newest: list[RunOut]) -> dict[str, ServiceOut]:
    """Return what there is of services that are at work, by their definition."""
    open_ones = [run for run in newest if run.kind == "service" and run.phase != "finished"]
    return {
        run.definition: model_services.show_service(visit.context, visit.caller, run.id) for run in open_ones
    }


@routes.get("/definitions/{id}")
def show(id: Ref, visit: Someone) -> Response:
    """Show a definition and its runs."""
    found = definitions.show_definition(visit.context, visit.caller, id)
    mine = found.owner == visit.caller.me.name
    query = forms.as_model(
        RunsQuery,
        {
            "definition": found.id,
            "owner": found.owner,
            "limit": PAGE,
            "after": visit.request.query_params.get("after") or None,
        },
    )
    page = runs.list_runs(visit.context, visit.caller, query)
    text = definition_form.written(found.spec)
    return visit.page(
        "definition.html",
        section=f"/{labels.PLURALS[found.kind]}",
        definition=found,
        runs=page.items,
        next=page.next,
        first=not query.after,
        text=text,
        mine=mine,
        bench=workbenches.show_workbench(visit.context, visit.caller, found.id)
        if found.kind == "workbench"
        else None,
        key=forms.new_key(),
    )


@routes.post("/definitions/{id}/delete")
def delete(id: Ref, visit: Someone) -> Response:
    """Delete a definition of which nothing runs."""
    kind = definitions.show_definition(visit.context, visit.caller, id).kind
    definitions.delete_definition(visit.context, visit.caller, id)
    return visit.go(f"/{labels.PLURALS[kind]}", done="deleted")
