"""The first page: what my groups have and may still get, what is available now, what of mine is at work."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.domain.model import UserState
from ava.schemas.runs import RunsQuery
from ava.schemas.users import GroupsQuery
from ava.services import groups
from ava.services.cluster import show_cluster
from ava.services.runs import runs
from ava.web.nodes import by_model, sorted_nodes
from ava.web.request import Someone

routes = APIRouter()
SHOWN = 20
"""Runs of each phase on the first page."""


@routes.get("/")
def home(visit: Someone) -> Response:
    """Show the first page."""
    mine = groups.list_groups(visit.context, visit.caller, GroupsQuery(limit=100)).items
    report = show_cluster(visit.context, visit.caller)
    open_runs = [
        run
        for phase in ("admitted", "queued")
        for run in runs.list_runs(visit.context, visit.caller, RunsQuery(phase=phase, limit=SHOWN)).items
    ]
    waiting = (
        visit.context.db.users.list(state=UserState.PENDING, limit=100).items if visit.caller.me.admin else ()
    )
    return visit.page(
        "home.html",
        groups=sorted(mine, key=lambda g: (g.name != visit.caller.me.default_group, g.name)),
        cluster=report,
        models=by_model(report.nodes),
        nodes=sorted_nodes(report.nodes)[:8],
        more=max(0, len(report.nodes) - 8),
        runs=open_runs,
        approvals=len(waiting),
    )
