"""Every page of the site by its route, and who looks at it: what the tests of pages go through, so that none is forgotten.

A route of ``ava/web/pages`` without a row here fails ``test_web_pages.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.routing import APIRoute

from ava.web.data_source_form import KINDS
from ava.web.pages import ALL
from tests.unit.ava.web.sample_site import ELSEWHERE

PARTS = frozenset({"/runs/{id}/now", "/runs/{id}/charts"})
"""Routes that answer with a piece of a page, or with figures."""
ANONYMOUS, ANN, ROOT = "", "ann", "root2"
Rows = dict[str, tuple[tuple[str, str], ...]]
ROWS: Rows = {
    "/": ((ANN, "/"), ("eve", "/"), (ROOT, "/")),
    "/login": ((ANONYMOUS, "/login"), (ANONYMOUS, "/login?done=registered")),
    "/register": ((ANONYMOUS, "/register"),),
    "/client": ((ANONYMOUS, "/client"),),
    "/invitation": ((ANONYMOUS, "/invitation"),),
    "/confirm-email": ((ANN, "/confirm-email?confirmation=x"),),
    "/runs": ((ANN, "/runs"), (ANN, "/runs?phase=queued&kind=training"), ("eve", "/runs"), (ROOT, "/runs?all=1")),
    "/runs/{id}": tuple(
        (ANN, f"/runs/{{{one}}}") for one in ("running", "waiting", "failed", "done", "bench", "service")
    ),
    "/trainings": ((ANN, "/trainings"), ("eve", "/trainings")),
    "/workbenches": ((ANN, "/workbenches"), ("eve", "/workbenches")),
    "/services": ((ANN, "/services"), ("eve", "/services")),
    "/definitions/{id}": ((ANN, "/definitions/{definition}"), (ANN, "/definitions/{bench_definition}")),
    "/trainings/new": (
        (ANN, "/trainings/new"), (ANN, "/trainings/new?like=tensorflow"), (ANN, "/trainings/new?like=mpi"),
        (ANN, "/trainings/new?from={definition}"), ("eve", "/trainings/new"),
    ),
    "/workbenches/new": ((ANN, "/workbenches/new"),),
    "/services/new": ((ANN, "/services/new"), (ANN, "/services/new?from={service_definition}")),
    "/nodes": ((ANN, "/nodes"),),
    "/data/new": (
        (ANN, "/data/new"),
        (ANN, "/data/new?source=nfs"),
        *((ROOT, f"/data/new?source={kind}") for kind in KINDS),
    ),
    "/data": ((ANN, "/data"), ("eve", "/data"), (ROOT, "/data"), (ROOT, "/data?all=1")),
    "/data/{id}": (
        (ANN, "/data/{data}"), (ANN, "/data/{data}#/train"), ("ben", "/data/{data}"),
        *((ROOT, f"/data/{{{one}}}") for one in ("data", *ELSEWHERE)),
    ),
    "/admin/groups": ((ROOT, "/admin/groups"),),
    "/groups/{name}": ((ANN, "/groups/vision"), (ROOT, "/groups/vision"), (ROOT, "/groups/speech")),
    "/groups/{name}/members/{user}/remove": (
        (ROOT, "/groups/vision/members/ann/remove"), (ROOT, "/groups/speech/members/ben/remove"),
    ),
    "/queues": ((ANN, "/queues"), (ROOT, "/queues?edit=night"), (ROOT, "/queues?new=1")),
    "/queues/{name}": ((ANN, "/queues/default"), (ANN, "/queues/night")),
    "/pools": ((ANN, "/pools"), (ROOT, "/pools?edit=gpu"), (ROOT, "/pools?new=1")),
    "/admin/users": (
        (ROOT, "/admin/users"), (ROOT, "/admin/users?state=pending"), (ROOT, "/admin/users?state=disabled"),
    ),
    "/admin/users/{name}": ((ROOT, "/admin/users/ann"), (ROOT, "/admin/users/carl")),
    "/admin/users/{name}/disable": ((ROOT, "/admin/users/ann/disable"), (ROOT, "/admin/users/carl/disable")),
    "/usage": ((ANN, "/usage"), (ANN, "/usage?group=vision"), (ROOT, "/usage?user=ann"), ("eve", "/usage")),
    "/admin/audit": ((ROOT, "/admin/audit"), (ROOT, "/admin/audit?who=nobody"), (ROOT, "/admin/audit?action=runs.submit")),
    "/account": ((ANN, "/account"), ("eve", "/account")),
    "/keys": ((ANN, "/keys"), ("eve", "/keys")),
    "/tokens": ((ANN, "/tokens"),),
    "/images": ((ANN, "/images"), ("eve", "/images"), (ROOT, "/images?user=ann"), (ROOT, "/images?group=vision")),
}  # fmt: skip
"""Route to who opens which address, with the ids that ``town.inhabit`` returns."""


def routes() -> set[str]:
    """Return the routes of pages, from the site itself."""
    found = [route for module in ALL for route in module.routes.routes if isinstance(route, APIRoute)]
    return {route.path for route in found if "GET" in route.methods} - PARTS


def by_person() -> Iterator[tuple[str, list[str]]]:
    """Yield each person with what they look at; "" is no one."""
    every = [row for rows in ROWS.values() for row in rows]
    for who in dict.fromkeys(who for who, _ in every):
        yield who, [path for name, path in every if name == who]
