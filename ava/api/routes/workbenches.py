"""Workbenches: what there are, how one gets into them, and the ticket that a browser takes there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from ava.api.internal_auth import name
from ava.api.routes.common import Ref, find, router
from ava.api.routes.runs import shown
from ava.domain import workbench
from ava.domain.idle import last_seen
from ava.domain.model import Definition, Kind, Phase, Run
from ava.domain.problems import missing
from ava.schemas.common import Paged
from ava.schemas.workbenches import DiskIn, DiskOut, IdleIn, SshOut, WorkbenchOut
from ava.services import pagination
from ava.services.auth.caller import Anybody, Caller, Someone
from ava.services.workbenches import tickets

routes = router("workbenches")
State = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class OpenQuery(BaseModel):
    """Which browser."""

    model_config = ConfigDict(extra="forbid")
    state: State


@routes.get("/workbenches")
def list_workbenches(who: Someone, query: Annotated[pagination.PageQuery, Query()]) -> Paged[WorkbenchOut]:
    """Return one's own workbenches, newest first, each with its present or last run."""
    who.may("workbenches.list")
    scope = f"workbenches {who.me.name}"
    found = who.services.store.definitions(
        owner=who.me.name,
        kind=Kind.WORKBENCH,
        after=pagination.opened(who, query, scope),
        limit=query.limit,
    )
    return pagination.page(who, found, scope, lambda one: _out(who, one))


@routes.get("/workbenches/{id}")
def show_workbench(id: Ref, who: Someone) -> WorkbenchOut:
    """Return a workbench."""
    return _out(who, _the(who, id, "workbenches.show"))


@routes.put("/workbenches/{id}/disk")
def grow_disk(id: Ref, body: DiskIn, who: Someone) -> WorkbenchOut:
    """Have a workbench's disk be larger, while it runs too; less than it has is refused."""
    one = _the(who, id, "workbenches.grow")
    with who.change("workbenches.grow", f"workbench {one.id}", size=body.size):
        who.services.store.grow_disk(one.id, body.size)
    return _out(who, _the(who, id, "workbenches.grow"))


@routes.put("/workbenches/{id}/idle")
def exempt_idle(id: Ref, body: IdleIn, who: Someone) -> WorkbenchOut:
    """Choose whether a workbench is stopped when nobody has worked in it for as long as the site says."""
    one = _the(who, id, "workbenches.exempt")
    with who.change("workbenches.exempt", f"workbench {one.id}", exempt=body.exempt):
        who.services.store.exempt_idle(one.id, body.exempt, who.services.clock())
    return _out(who, one)


@routes.get("/workbenches/{id}/open", status_code=303)
def open_workbench(id: Ref, who: Anybody, request: Request, query: Annotated[OpenQuery, Query()]) -> Response:
    """Send the owner's browser into the workbench with a ticket; one that is not logged in to the login first.

    It comes from the workbench's own origin, whose cookie holds the secret that ``state`` is the digest of.
    """
    if who.user is None and "text/html" in request.headers.get("accept", ""):
        back = f"{request.url.path}?state={query.state}"
        return RedirectResponse(f"/login?next={quote(back, safe='')}", 303)
    one = _the(who, id, "workbenches.open")
    config = who.services.config.workbenches
    if config is None or who.kind != "session":
        raise missing(f"way into workbench {id}", "path.id")
    card = tickets.ticket(who.services.sealer, tickets.Pass(who.digest, one.id), query.state)
    return RedirectResponse(f"https://{workbench.host(one.id, config.below)}/.ava/enter?ticket={card}", 303)


def _the(who: Caller, id: str, action: str) -> Definition:
    found = find(who.services.store.definition, "workbench", id, "path.id")
    who.may(action, owner=found.owner, what=f"workbench {id}", where="path.id")
    if found.kind is not Kind.WORKBENCH:
        raise missing(f"workbench {id}", "path.id")
    return found


def _out(who: Caller, one: Definition) -> WorkbenchOut:
    store, config = who.services.store, who.services.config.workbenches
    runs = store.runs(definition=one.id, limit=1).items
    last = shown(who, runs)[0] if runs else None
    return WorkbenchOut(
        id=one.id,
        name=one.name,
        owner=one.owner,
        run=last.id if last else None,
        state=last.state if last else "new",
        reason=last.reason if last else "",
        url=f"https://{workbench.host(one.id, config.below)}/" if config else "",
        ssh=_ssh(who, one, runs[0]) if runs else None,
        disk=_disk(who, one),
        idle_exempt=store.is_idle_exempt(one.id),
        idle_until=_idle_until(who, runs[0]) if runs and runs[0].phase is Phase.ADMITTED else None,
    )


def _disk(who: Caller, one: Definition) -> DiskOut | None:
    found = who.services.store.disk(one.id)
    if found is not None:
        return DiskOut(size=found.size, wanted=found.wanted, node=found.node, trouble=found.trouble)
    asked = one.spec.get("disk")
    return None if asked is None else DiskOut(size=0, wanted=asked, node="", trouble="")


def _idle_until(who: Caller, run: Run) -> datetime | None:
    config, kept = who.services.config.workbenches, who.services.store.bench(run.definition)
    if config is None or config.idle is None or kept is None or kept.warned is None:
        return None
    if kept.warned < last_seen(run, kept):
        return None
    return kept.warned + timedelta(hours=config.idle.warn_hours)


def _ssh(who: Caller, one: Definition, run: Run) -> SshOut | None:
    config = who.services.config.workbenches
    if config is None or config.jump is None:
        return None
    kept = who.services.store.bench(one.id)
    jump = config.jump
    return SshOut(
        host=name(one.id, run.group, jump.domain),
        port=22,
        user=one.owner,
        host_key=kept.host_public if kept else "",
        jump_host=jump.host,
        jump_port=jump.port,
        jump_user=jump.user,
        jump_host_key=jump.host_key,
    )
