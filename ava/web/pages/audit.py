"""The audit log, for administrators."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.api.routes import audit
from ava.web import forms
from ava.web.visit import Someone

routes = APIRouter()
PAGE = 50


@routes.get("/admin/audit")
def show(visit: Someone) -> Response:
    """Show a page of it, newest first."""
    asked = visit.request.query_params
    chosen = {name: asked[name] for name in ("who", "object") if asked.get(name)}
    query = forms.as_model(audit.AuditQuery, {**chosen, "limit": PAGE, "after": asked.get("after") or None})
    found = audit.list_audit(visit.who, query)
    return visit.page("audit.html", rows=found.items, next=found.next, chosen=chosen, first=not query.after)
