"""The audit log, for administrators."""

from __future__ import annotations

from ava.schemas.common import Paged
from ava.schemas.users import AuditOut, AuditQuery
from ava.services import pagination, serializers
from ava.services.auth.caller import Caller


def list_audit(who: Caller, query: AuditQuery) -> Paged[AuditOut]:
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
