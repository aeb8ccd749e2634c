"""The audit log, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from fastapi import APIRouter, Response

from ava.domain.data_sets import DataSet
from ava.domain.model import Definition, Run
from ava.domain.names import is_id
from ava.domain.problems import ApiError
from ava.schemas.users import AuditQuery
from ava.services import audit
from ava.web import forms
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 50


@routes.get("/admin/audit")
def show(visit: Someone) -> Response:
    """Show a page of it, newest first."""
    asked = visit.request.query_params
    chosen = {name: asked[name] for name in ("who", "object", "action") if asked.get(name)}
    query = forms.as_model(AuditQuery, {**chosen, "limit": PAGE, "after": asked.get("after") or None})
    found = audit.list_audit(visit.context, visit.caller, query)
    return visit.page(
        "audit.html",
        rows=found.items,
        names=_names(visit, [row.object for row in found.items]),
        next=found.next,
        chosen=chosen,
        first=not query.after,
    )


def _names(visit: PageRequest, objects: list[str]) -> dict[str, str]:
    """Return the name of each object that the log has by its id; what is gone is left out."""
    db, found = visit.context.db, dict[str, str]()
    kinds: dict[str, Callable[[str], Run | Definition | DataSet]] = {
        "run": db.runs.get,
        "definition": db.definitions.get,
        "workbench": db.definitions.get,
        "training": db.definitions.get,
        "service": db.definitions.get,
        "data set": db.data_sets.get,
    }
    for object in dict.fromkeys(objects):
        kind, _, id = object.rpartition(" ")
        if kind in kinds and is_id(id):
            with suppress(ApiError):
                found[object] = kinds[kind](id).name
    return found
