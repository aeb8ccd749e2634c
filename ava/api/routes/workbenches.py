"""Workbenches: what there are, how one gets into them, and the ticket that a browser takes there."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from ava.http.dependencies import AnyCaller, CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged, PageQuery
from ava.schemas.workbenches import DiskIn, IdleIn, WorkbenchOut
from ava.services.workbenches import workbenches

routes = router("workbenches")
State = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class OpenQuery(BaseModel):
    """Which browser."""

    model_config = ConfigDict(extra="forbid")
    state: State


@routes.get("/workbenches")
def list_workbenches(
    context: CurrentContext, caller: Someone, query: Annotated[PageQuery, Query()]
) -> Paged[WorkbenchOut]:
    """Return one's own workbenches, newest first, each with its present or last run."""
    return workbenches.list_workbenches(context, caller, query)


@routes.get("/workbenches/{id}")
def show_workbench(id: Ref, context: CurrentContext, caller: Someone) -> WorkbenchOut:
    """Return a workbench."""
    return workbenches.show_workbench(context, caller, id)


@routes.put("/workbenches/{id}/disk")
def grow_disk(id: Ref, body: DiskIn, context: CurrentContext, caller: Someone) -> WorkbenchOut:
    """Have a workbench's disk be larger, while it runs too; less than it has is refused."""
    return workbenches.grow_disk(context, caller, id, body)


@routes.put("/workbenches/{id}/idle")
def exempt_idle(id: Ref, body: IdleIn, context: CurrentContext, caller: Someone) -> WorkbenchOut:
    """Choose whether a workbench is stopped when it has been idle for as long as the site says."""
    return workbenches.exempt_idle(context, caller, id, body)


@routes.get("/workbenches/{id}/open", status_code=303)
def open_workbench(
    id: Ref,
    context: CurrentContext,
    caller: AnyCaller,
    request: Request,
    query: Annotated[OpenQuery, Query()],
) -> Response:
    """Send the owner's browser into the workbench with a ticket; one that is not logged in to the login first.

    It comes from the workbench's own origin, whose cookie holds the secret that ``state`` is the digest of.
    """
    if caller.user is None and "text/html" in request.headers.get("accept", ""):
        back = f"{request.url.path}?state={query.state}"
        return RedirectResponse(f"/login?next={quote(back, safe='')}", 303)
    return RedirectResponse(workbenches.open_workbench(context, caller, id, query.state), 303)
