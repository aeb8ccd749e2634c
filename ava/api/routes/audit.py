"""The audit log: it is read here, and nothing of the interface changes it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import router
from ava.schemas.common import Paged
from ava.schemas.users import AuditOut, AuditQuery
from ava.services import audit

routes = router("audit")


@routes.get("/audit")
def list_audit(
    context: CurrentContext, caller: Someone, query: Annotated[AuditQuery, Query()]
) -> Paged[AuditOut]:
    """Return every change and every refused login, newest first."""
    return audit.list_audit(context, caller, query)
