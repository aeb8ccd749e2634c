"""What was used, by user, group and month, from the charges (N1)."""

from __future__ import annotations

from datetime import UTC, datetime

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.runs import UsageQuery, UsageReport
from ava.services import serializers
from ava.services.auth.authorization import authorize
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find


def report(context: Context, caller: Caller, query: UsageQuery) -> UsageReport:
    """Return the usage that a query asks for; ApiError where that is not the caller's to know."""
    user = _whose(context, caller, query)
    now = context.clock()
    since, until = month(query.month or f"{now:%Y-%m}")
    if since > now:
        raise ApiError(
            422,
            Problem(
                "value-invalid",
                Phrase("This month has not begun."),
                "query.month",
                str(query.month),
                Phrase("at most {most}", most=f"{now:%Y-%m}"),
                Phrase("Choose a month that has begun."),
            ),
        )
    found = context.db.charges.usage(since, until, now=now, group=query.group, user=user)
    return UsageReport(since=since, until=until, rows=[serializers.usage(row) for row in found])


def _whose(context: Context, caller: Caller, query: UsageQuery) -> str | None:
    """Return the user whose usage is asked for, None for everybody's; ApiError where that is not the caller's to know."""
    me, db = caller.me, context.db
    user = me.name if query.user == "me" else query.user
    if user == me.name:
        authorize(context, caller, "usage.own")
        return user
    if query.group is not None:
        group = find(db.groups.get, "group", query.group, "query.group")
        authorize(
            context,
            caller,
            "groups.show",
            group=group,
            what=Phrase("group {name}", name=query.group),
            where="query.group",
        )
        authorize(
            context,
            caller,
            "usage.group",
            group=group,
            what=Phrase("group {name}", name=query.group),
            where="query.group",
        )
        return user
    if user is None and not me.admin:
        authorize(context, caller, "usage.own")
        return me.name
    authorize(context, caller, "usage.all")
    return user


def month(text: str) -> tuple[datetime, datetime]:
    """Return the beginning of a month ``YYYY-MM`` and of the next, UTC."""
    year, number = int(text[:4]), int(text[5:])
    following = (year + number // 12, number % 12 + 1)
    return datetime(year, number, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)
