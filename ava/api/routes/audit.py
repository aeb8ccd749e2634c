"""The audit log: it is read here, and nothing of the interface changes it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from ava.api.routes.common import router
from ava.schemas.common import Paged
from ava.schemas.users import AuditOut
from ava.services import pagination, serializers
from ava.services.auth.caller import Someone

routes = router("audit")


class AuditQuery(pagination.PageQuery):
    """Which lines."""

    who: Annotated[str, Field(max_length=100)] | None = None
    object: Annotated[str, Field(max_length=300)] | None = None
    action: Annotated[str, Field(max_length=100)] | None = None


@routes.get("/audit")
def list_audit(who: Someone, query: Annotated[AuditQuery, Query()]) -> Paged[AuditOut]:
    """Return every change and every refused login, newest first."""
    who.may("audit.list")
    scope = f"audit {query.who} {query.object} {query.action}"
    found = who.services.store.audit(
        who=query.who,
        object=query.object,
        action=query.action,
        after=pagination.opened(who, query, scope),
        limit=query.limit,
    )
    return pagination.page(who, found, scope, serializers.audit)
