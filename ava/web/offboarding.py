"""The page before a person is taken out of a group or shut out: what they run, and whether that is stopped."""

from __future__ import annotations

from itertools import islice

from fastapi import Response

from ava.services import offboarding
from ava.services.runs.runs import with_states
from ava.web.request import PageRequest

MOST = 50
"""Runs that are shown."""


def page(visit: PageRequest, user: str, group: str | None = None) -> Response:
    """Return the page for leaving a group; without a group for being shut out."""
    found = list(islice(offboarding.runs_of(visit.context, visit.caller, user, group), MOST + 1))
    return visit.page(
        "leave.html",
        user=user,
        group=group,
        runs=with_states(visit.context, visit.caller, found[:MOST]),
        more=len(found) > MOST,
    )
