"""The runs of a person who leaves a group, or may not log in any more."""

from __future__ import annotations

from collections.abc import Iterator

from ava.domain.model import Phase, Run
from ava.services.auth.caller import Caller
from ava.services.context import Context


def runs_of(context: Context, caller: Caller, owner: str, group: str | None = None) -> Iterator[Run]:
    """Yield a person's runs that have not finished and are not being stopped: all, or those charged to a group."""
    for phase in (Phase.QUEUED, Phase.ADMITTED):
        after, more = None, True
        while more:
            found = context.db.runs.list(owner=owner, group=group, phase=phase, after=after, limit=500)
            yield from (run for run in found.items if run.stop is None)
            after, more = found.next, found.next is not None
