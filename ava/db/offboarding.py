"""The runs of a user who leaves a group, or who may not log in any more: stopped in the transaction that decides it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from ava.db.audit import write_line
from ava.db.runs import stop_run
from ava.db.tables import runs
from ava.domain.model import Kind, Phase


@dataclass(frozen=True, slots=True)
class RunStop:
    """A wish that another user's runs end.

    Attributes:
        by: name of the user who asks; each run's reason and the audit log have it.
        address: where the request came from, for the audit log.
        public_only: only services that anybody may call.
    """

    by: str
    address: str
    public_only: bool = False


def stop_runs(
    connection: Connection, owner: str, wish: RunStop, now: datetime, *, group: str | None = None
) -> None:
    """Ask for the end of a user's runs: all, or those charged to a group. Idempotent.

    The caller holds the owner's row (`Lock.NO_KEY_UPDATE`), so that no run is submitted or admitted meanwhile.
    """
    query = select(runs.c.id, *([runs.c.spec] if wish.public_only else [])).where(
        runs.c.owner == owner, runs.c.phase != Phase.FINISHED, runs.c.stop.is_(None)
    )
    if group is not None:
        query = query.where(runs.c.group_name == group)
    if wish.public_only:
        query = query.where(runs.c.kind == Kind.SERVICE)
    # In one order, as everywhere: two transactions that stop the same runs wait for each other, never in a circle.
    for row in connection.execute(query.order_by(runs.c.id)).all():
        if wish.public_only and (row.spec.get("serving") or {}).get("access") != "public":
            continue
        stop_run(connection, row.id, now, by=wish.by)
        write_line(
            connection,
            now,
            who=wish.by,
            action="runs.stop",
            object=f"run {row.id}",
            outcome="done",
            address=wish.address,
            detail={"owner": owner},
        )
