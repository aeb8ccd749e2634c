"""What was used, by user, group and month (N1); the same figures as CSV come from the API."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlencode

from fastapi import APIRouter, Response

from ava.schemas.runs import UsageQuery
from ava.schemas.users import GroupsQuery
from ava.services import groups
from ava.services.usage import report
from ava.web import forms
from ava.web.request import Someone

routes = APIRouter()
MONTHS = 24


@routes.get("/usage")
def show(visit: Someone) -> Response:
    """Show a month."""
    asked = visit.request.query_params
    now = visit.context.clock()
    chosen = {name: asked[name] for name in ("month", "group", "user") if asked.get(name)}
    chosen.setdefault("month", f"{now:%Y-%m}")
    query = forms.as_model(UsageQuery, chosen)
    found = report(visit.context, visit.caller, query)
    return visit.page(
        "usage.html",
        rows=sorted(found.rows, key=lambda r: (-r.gpu_hours, -r.cpu_hours, r.group, r.user)),
        chosen=chosen,
        months=months(now),
        groups=groups.list_groups(
            visit.context, visit.caller, GroupsQuery(limit=200, all=visit.caller.me.admin)
        ).items,
        csv=f"/api/v1/usage?{urlencode({**chosen, 'format': 'csv'})}",
    )


def months(now: datetime) -> list[str]:
    """Return the newest months, ``YYYY-MM``."""
    found, day = [], now.replace(day=1)
    for _ in range(MONTHS):
        found.append(f"{day:%Y-%m}")
        day = (day - timedelta(days=1)).replace(day=1)
    return found
