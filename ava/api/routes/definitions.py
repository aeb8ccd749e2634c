"""Definitions of workbenches, trainings and services."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Response

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged
from ava.schemas.definitions import DefinitionMake, DefinitionsQuery, Start
from ava.schemas.runs import DefinitionOut, RunOut
from ava.services import definitions

routes = router("definitions")


@routes.get("/definitions")
def list_definitions(
    context: CurrentContext, caller: Someone, query: Annotated[DefinitionsQuery, Query()]
) -> Paged[DefinitionOut]:
    """Return stored definitions, newest first."""
    return definitions.list_definitions(context, caller, query)


@routes.post("/definitions", status_code=201)
def make_definition(body: DefinitionMake, context: CurrentContext, caller: Someone) -> DefinitionOut:
    """Store a definition. Kind and name are its key: the same again changes nothing, another one is 409 unless ``replace``."""
    return definitions.make_definition(context, caller, body)


@routes.get("/definitions/{id}")
def show_definition(id: Ref, context: CurrentContext, caller: Someone) -> DefinitionOut:
    """Return a definition."""
    return definitions.show_definition(context, caller, id)


@routes.delete("/definitions/{id}", status_code=204)
def delete_definition(id: Ref, context: CurrentContext, caller: Someone) -> None:
    """Delete a definition of which nothing runs; its runs stay known."""
    definitions.delete_definition(context, caller, id)


@routes.post("/definitions/{id}/runs", status_code=201)
def start(
    id: Ref,
    body: Start,
    context: CurrentContext,
    caller: Someone,
    response: Response,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> RunOut:
    """Start a definition; the run is charged to one's default group of this moment (U6)."""
    run = definitions.start(context, caller, id, body, idempotency_key)
    response.headers["location"] = f"/api/v1/runs/{run.id}"
    return run
