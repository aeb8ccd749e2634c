"""Data sets: one's own and those that are shared with one; made, shared, taken back, deleted (U2)."""

from __future__ import annotations

from functools import partial
from typing import Literal

from fastapi import APIRouter, Response

from ava.api.routes import data_sets
from ava.api.routes.common import Ref
from ava.api.schemas.data_sets import DataSetMake, LimitIn, ShareIn
from ava.domain.problems import Refused
from ava.web import forms
from ava.web.visit import Someone, Visit

routes = APIRouter()
PAGE = 50
GIB = 2**30
FILES = (
    "data-set-in-use", "file-there", "folder-not-empty", "not-allowed", "not-found", "path-invalid", "storage-away",
    "storage-full", "too-many-requests", "too-many-uploads", "upload-busy",
)  # fmt: skip
"""Problems that files have, which the page's scripts are told of."""


def _list(visit: Visit, refused: Refused | None = None) -> Response:
    asked = visit.request.query_params
    everybody = asked.get("all") == "1"
    query = forms.as_model(
        data_sets.DataSetsQuery, {"all": everybody, "limit": PAGE, "after": asked.get("after") or None}
    )
    found = data_sets.list_data_sets(visit.who, query)
    return visit.page(
        "data_sets.html",
        refused=refused,
        data_sets=found.items,
        next=found.next,
        first=not query.after,
        everybody=everybody,
        values=visit.form,
    )


@routes.get("/data")
def list_data_sets(visit: Someone) -> Response:
    """Show them."""
    return _list(visit)


@routes.post("/data")
def make(visit: Someone) -> Response:
    """Make a data set in a folder of its own."""
    try:
        made = data_sets.make_data_set(
            forms.as_model(DataSetMake, {"name": visit.form.text("name")}), visit.who
        )
    except Refused as refused:
        return _list(visit, refused)
    return visit.go(f"/data/{made.id}", done="saved")


def _show(visit: Visit, id: str, refused: Refused | None = None) -> Response:
    who = visit.who
    one = data_sets.show_data_set(id, who)
    # Who only reads it is not told who else does, nor of whose runs it is in use.
    changes = "data-sets.change"
    whole = one.owner == who.me.name or who.me.admin
    if whole:
        who.may(changes, owner=one.owner)
    return visit.page(
        "data_set.html",
        refused=refused,
        one=one,
        whole=whole,
        shares=data_sets.list_shares(id, who) if whole else [],
        uses=data_sets.list_uses(id, who) if whole else [],
        words_of_files={code: said for code in FILES if (said := visit.words.of_problem(code))},
        values=visit.form,
    )


@routes.get("/data/{id}")
def show(id: Ref, visit: Someone) -> Response:
    """Show a data set."""
    return _show(visit, id)


@routes.post("/data/{id}/share")
def share(id: Ref, visit: Someone) -> Response:
    """Let a user or the members of a group read it."""
    form = visit.form
    kind = "group" if form.get("kind") == "group" else "user"
    try:
        data_sets.share_data_set(id, forms.as_model(ShareIn, {kind: form.given("name")}), visit.who)
    except Refused as refused:
        if refused.status == 403:
            raise
        return _show(visit, id, refused)
    return visit.go(f"/data/{id}", done="shared")


@routes.post("/data/{id}/shares/{kind}/{name}/end")
def unshare(id: Ref, kind: Literal["user", "group"], name: Ref, visit: Someone) -> Response:
    """Take that back."""
    data_sets.unshare_data_set(id, kind, name, visit.who)
    return visit.go(f"/data/{id}", done="unshared")


@routes.post("/data/{id}/limit")
def limit(id: Ref, visit: Someone) -> Response:
    """Choose its limit."""

    def change() -> None:
        body = forms.as_model(LimitIn, {"quota": forms.scaled(visit.form.text("quota"), GIB)})
        data_sets.limit_data_set(id, body, visit.who)

    return visit.changed(change, partial(_show, visit, id), f"/data/{id}", "saved")


@routes.post("/data/{id}/delete")
def delete(id: Ref, visit: Someone) -> Response:
    """Delete it with its files; refused while a run names it."""
    return visit.changed(
        lambda: data_sets.delete_data_set(id, visit.who),
        partial(_show, visit, id),
        "/data",
        "deleted",
    )
