"""Workbenches: list, show, disk, idle rule, and the ticket by which a browser opens one."""

from __future__ import annotations

from datetime import datetime, timedelta

from ava.domain import workbench
from ava.domain.idle import last_seen
from ava.domain.model import Definition, Kind, Phase, Run
from ava.domain.phrases import Phrase
from ava.domain.problems import missing
from ava.schemas.common import Paged, PageQuery
from ava.schemas.workbenches import DiskIn, DiskOut, IdleIn, SshOut, WorkbenchOut
from ava.services import pagination, serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find
from ava.services.runs.runs import with_states
from ava.services.workbenches import tickets
from ava.services.workbenches.access import ssh_name


def list_workbenches(context: Context, caller: Caller, query: PageQuery) -> Paged[WorkbenchOut]:
    """Return one's own workbenches, newest first, each with its present or last run."""
    authorize(context, caller, "workbenches.list")
    scope = f"workbenches {caller.me.name}"
    found = context.db.definitions.list(
        owner=caller.me.name,
        kind=Kind.WORKBENCH,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    return pagination.page(context, caller, found, scope, lambda one: _out(context, caller, one))


def show_workbench(context: Context, caller: Caller, id: str) -> WorkbenchOut:
    """Return a workbench."""
    return _out(context, caller, find_workbench(context, caller, id, "workbenches.show"))


def grow_disk(context: Context, caller: Caller, id: str, body: DiskIn) -> WorkbenchOut:
    """Have a workbench's disk be larger, while it runs too; less than it has is refused."""
    one = find_workbench(context, caller, id, "workbenches.grow")
    with record_change(context, caller, "workbenches.grow", f"workbench {one.id}", size=body.size):
        context.db.disks.grow(one.id, body.size)
    return _out(context, caller, find_workbench(context, caller, id, "workbenches.grow"))


def exempt_idle(context: Context, caller: Caller, id: str, body: IdleIn) -> WorkbenchOut:
    """Choose whether a workbench is stopped when it has been idle for as long as the site says."""
    one = find_workbench(context, caller, id, "workbenches.exempt")
    with record_change(context, caller, "workbenches.exempt", f"workbench {one.id}", exempt=body.exempt):
        context.db.workbenches.set_idle_exempt(one.id, body.exempt, context.clock())
    return _out(context, caller, one)


def open_workbench(context: Context, caller: Caller, id: str, state: str) -> str:
    """Return the address, with a ticket, at which the owner's browser gets in; ``state`` is the digest of its secret."""
    one = find_workbench(context, caller, id, "workbenches.open")
    config = context.config.workbenches
    if config is None or caller.kind != "session":
        raise missing(f"way into workbench {id}", "path.id")
    card = tickets.ticket(context.sealer, tickets.Pass(caller.digest, one.id), state)
    return f"https://{workbench.host(one.id, config.below)}/.ava/enter?ticket={card}"


def find_workbench(context: Context, caller: Caller, id: str, action: str) -> Definition:
    """Return a workbench that the caller may do this with; ApiError 404 for every other."""
    found = find(context.db.definitions.get, "workbench", id, "path.id")
    authorize(
        context, caller, action, owner=found.owner, what=Phrase("workbench {id}", id=id), where="path.id"
    )
    if found.kind is not Kind.WORKBENCH:
        raise missing(Phrase("workbench {id}", id=id), "path.id")
    return found


def _out(context: Context, caller: Caller, one: Definition) -> WorkbenchOut:
    db, config = context.db, context.config.workbenches
    runs = db.runs.list(definition=one.id, limit=1).items
    last = with_states(context, caller, runs)[0] if runs else None
    return WorkbenchOut(
        id=one.id,
        name=one.name,
        owner=one.owner,
        run=last.id if last else None,
        state=last.state if last else "new",
        reason=last.reason if last else "",
        url=f"https://{workbench.host(one.id, config.below)}/" if config else "",
        ssh=_ssh(context, caller, one, runs[0]) if runs else None,
        disk=_disk(context, caller, one),
        idle_exempt=db.workbenches.is_idle_exempt(one.id),
        idle_until=_idle_until(context, caller, runs[0])
        if runs and runs[0].phase is Phase.ADMITTED
        else None,
    )


def _disk(context: Context, caller: Caller, one: Definition) -> DiskOut | None:
    found = context.db.disks.get(one.id)
    if found is not None:
        return serializers.answer(DiskOut, found)
    asked = one.spec.get("disk")
    return None if asked is None else DiskOut(size=0, wanted=asked, node="", trouble="")


def _idle_until(context: Context, caller: Caller, run: Run) -> datetime | None:
    config, kept = context.config.workbenches, context.db.workbenches.get(run.definition)
    if config is None or config.idle is None or kept is None or kept.warned is None:
        return None
    if kept.warned < last_seen(run, kept):
        return None
    return kept.warned + timedelta(hours=config.idle.warn_hours)


def _ssh(context: Context, caller: Caller, one: Definition, run: Run) -> SshOut | None:
    config = context.config.workbenches
    if config is None or config.jump is None:
        return None
    kept = context.db.workbenches.get(one.id)
    jump = config.jump
    return SshOut(
        host=ssh_name(one.id, run.group, jump.domain),
        port=22,
        user=one.owner,
        host_key=kept.host_public if kept else "",
        jump_host=jump.host,
        jump_port=jump.port,
        jump_user=jump.user,
        jump_host_key=jump.host_key,
    )
