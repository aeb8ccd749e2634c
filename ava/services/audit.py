"""The audit log, for administrators."""

from __future__ import annotations

from ava.schemas.common import Paged
from ava.schemas.users import AuditOut, AuditQuery
from ava.services import pagination, serializers
from ava.services.auth.authorization import authorize
from ava.services.auth.caller import Caller
from ava.services.context import Context


def list_audit(context: Context, caller: Caller, query: AuditQuery) -> Paged[AuditOut]:
    """Return every change and every refused login, newest first."""
    authorize(context, caller, "audit.list")
    scope = f"audit {query.who} {query.object} {query.action}"
    found = context.db.audit.list(
        who=query.who,
        object=query.object,
        action=query.action,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    return pagination.page(context, caller, found, scope, serializers.audit)
