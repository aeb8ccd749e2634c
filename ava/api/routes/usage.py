"""What was used, by user, group and month, from the charges (N1)."""

from __future__ import annotations

import csv
import io
from typing import Annotated

from fastapi import Query, Response

from ava.http.dependencies import CurrentContext, Someone
from ava.http.responses import Json
from ava.http.routing import router
from ava.schemas.runs import UsageQuery, UsageReport
from ava.services.usage import report

routes = router("usage")
USED = "gpu_hours", "cpu_hours", "memory_gib_hours"
COLUMNS = ("user", "group", "runs", *USED, *(f"reserved_{name}" for name in USED))


@routes.get(
    "/usage",
    response_model=UsageReport,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def usage(context: CurrentContext, caller: Someone, query: Annotated[UsageQuery, Query()]) -> Response:
    """Return the usage of a month: one's own, that of a group of one's own, or anybody's for administrators."""
    found = report(context, caller, query)
    return _csv(found) if query.format == "csv" else Json(found)


def _csv(found: UsageReport) -> Response:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("since", "until", *COLUMNS))
    for row in found.rows:
        writer.writerow(
            (found.since.isoformat(), found.until.isoformat(), *(getattr(row, c) for c in COLUMNS))
        )
    return Response(text.getvalue(), media_type="text/csv")
