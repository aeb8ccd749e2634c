"""Stopping a person's runs when they leave a group, or may not log in any more."""

from __future__ import annotations

from collections.abc import Iterator

from ava.domain.model import Kind, Phase, Run
from ava.services.auth.caller import Caller


def runs_of(who: Caller, owner: str, group: str | None = None, kind: Kind | None = None) -> Iterator[Run]:
    """Yield a person's runs that have not finished and are not being stopped: all, or those charged to a group."""
    for phase in (Phase.QUEUED, Phase.ADMITTED):
        after, more = None, True
        while more:
            found = who.services.store.runs(
                owner=owner, group=group, kind=kind, phase=phase, after=after, limit=500
            )
            yield from (run for run in found.items if run.stop is None)
            after, more = found.next, found.next is not None


def stop(who: Caller, owner: str, group: str | None = None) -> None:
    """Ask for the end of a person's runs: all, or those charged to a group. Twice does no harm."""
    for run in list(runs_of(who, owner, group)):
        _stop(who, run)


def stop_public(who: Caller, owner: str) -> None:
    """Ask for the end of a person's services that anybody may call."""
    for run in list(runs_of(who, owner, kind=Kind.SERVICE)):
        serving = who.services.store.run(run.id).spec.get("serving") or {}
        if serving.get("access") == "public":
            _stop(who, run)


def _stop(who: Caller, run: Run) -> None:
    # Not counted as changes: an administrator's limit must not end it half way.
    who.services.store.stop(run.id, who.services.clock(), by=who.me.name)
    who.services.audit(who.me.name, "runs.stop", f"run {run.id}", "done", who.address, {"owner": run.owner})
