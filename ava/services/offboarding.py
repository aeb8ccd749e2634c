"""Stopping a person's runs when they leave a group, or may not log in any more."""

from __future__ import annotations

from collections.abc import Iterator

from ava.domain.model import Kind, Phase, Run
from ava.services.auth.caller import Caller
from ava.services.context import Context


def runs_of(
    context: Context, caller: Caller, owner: str, group: str | None = None, kind: Kind | None = None
) -> Iterator[Run]:
    """Yield a person's runs that have not finished and are not being stopped: all, or those charged to a group."""
    for phase in (Phase.QUEUED, Phase.ADMITTED):
        after, more = None, True
        while more:
            found = context.db.runs.list(
                owner=owner, group=group, kind=kind, phase=phase, after=after, limit=500
            )
            yield from (run for run in found.items if run.stop is None)
            after, more = found.next, found.next is not None


def stop(context: Context, caller: Caller, owner: str, group: str | None = None) -> None:
    """Ask for the end of a person's runs: all, or those charged to a group. Idempotent."""
    for run in list(runs_of(context, caller, owner, group)):
        _stop(context, caller, run)


def stop_public(context: Context, caller: Caller, owner: str) -> None:
    """Ask for the end of a person's services that anybody may call."""
    for run in list(runs_of(context, caller, owner, kind=Kind.SERVICE)):
        serving = context.db.runs.get(run.id).spec.get("serving") or {}
        if serving.get("access") == "public":
            _stop(context, caller, run)


def _stop(context: Context, caller: Caller, run: Run) -> None:
    # Not counted as changes: an administrator's limit must not end it half way.
    context.db.runs.stop(run.id, context.clock(), by=caller.me.name)
    context.audit(caller.me.name, "runs.stop", f"run {run.id}", "done", caller.address, {"owner": run.owner})
