"""Data sets: one's own and those that are shared with one; made, shared, taken back, deleted (U2)."""

from __future__ import annotations

from functools import partial
from typing import Literal

from fastapi import APIRouter, Response

from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.data_sets import DataSetOut, DataSetsQuery, LimitIn, ShareIn
from ava.services import data_sets
from ava.services.auth.authorization import authorize
from ava.web import data_source_form, forms
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 50
GIB = 2**30
FILES = (
    "data-set-in-use", "file-there", "folder-not-empty", "folder-not-made", "not-allowed", "not-found", "path-invalid",
    "storage-full", "storage-unavailable", "too-many-requests", "too-many-uploads", "upload-busy",
)  # fmt: skip
"""Problems of files, passed to the page's scripts."""


def _list(visit: PageRequest, refused: ApiError | None = None) -> Response:
    asked = visit.request.query_params
    all_users = asked.get("all") == "1"
    query = forms.as_model(
        DataSetsQuery, {"all": all_users, "limit": PAGE, "after": asked.get("after") or None}
    )
    found = data_sets.list_data_sets(visit.context, visit.caller, query)
    return visit.page(
        "data_sets.html",
        refused=refused,
        data_sets=found.items,
        next=found.next,
        first=not query.after,
        all_users=all_users,
        states={one.id: state(one) for one in found.items},
        several=len(data_source_form.offered(visit.context, visit.caller)) > 1,
        values=visit.form,
        size=visit.context.config.data_set_quota,
        promised=visit.context.db.data_sets.promised(visit.caller.me.name),
        most=visit.context.config.owner_quota,
    )


def state(one: DataSetOut) -> str:
    """Return whether a data set's files are there: ``there``, ``not-there``, or ``not-known``; a folder needs no word."""
    seen = one.elsewhere
    if seen is None:
        return ""
    if seen.ready and not seen.trouble and (seen.seen or one.source["kind"] == "rbd"):
        return "there"
    # It was looked for, and is not there; or what would make it readable says why it does not.
    gone = seen.size is None if seen.ready else True
    return "not-there" if seen.trouble and gone and (seen.seen or not seen.ready) else "not-known"


@routes.get("/data")
def list_data_sets(visit: Someone) -> Response:
    """Show them."""
    return _list(visit)


@routes.post("/data")
def make(visit: Someone) -> Response:
    """Make a data set in a folder of its own."""
    try:
        made = data_sets.make_data_set(
            visit.context, visit.caller, data_source_form.read(visit.form, data_source_form.OWN)
        )
    except ApiError as refused:
        return _list(visit, refused)
    return visit.go(f"/data/{made.id}", done="saved")


def _new(visit: PageRequest, refused: ApiError | None = None) -> Response:
    kinds, kind = data_source_form.offered(visit.context, visit.caller), _kind(visit)
    kind = kind if kind in kinds else data_source_form.OWN
    config, found = visit.context.config, list(refused.problems) if refused else []
    return visit.page(
        "data_new.html",
        refused=refused,
        kinds=kinds,
        kind=kind,
        fields=data_source_form.fields(kind),
        needed=data_source_form.needed(kind),
        known={field: data_source_form.known(kind, field, config) for field in data_source_form.fields(kind)},
        lacking=[] if found else data_source_form.lacking(kind, config, {}),
        errors=data_source_form.by_field(found),
        values=visit.form,
    )


def _kind(visit: PageRequest) -> str:
    asked = visit.form.get("source") or visit.request.query_params.get("source") or ""
    return asked if asked in data_source_form.KINDS else data_source_form.OWN


@routes.get("/data/new")
def new(visit: Someone) -> Response:
    """Show the form of a data set, with the sources that one may have."""
    return _new(visit)


@routes.post("/data/new")
def make_of_source(visit: Someone) -> Response:
    """Make a data set of the source that is chosen."""
    kind = _kind(visit)
    wrong = data_source_form.wrong(visit.form, kind, visit.context.config)
    if wrong and kind in data_source_form.offered(visit.context, visit.caller):
        return _new(visit, ApiError(422, *wrong))
    try:
        made = data_sets.make_data_set(visit.context, visit.caller, data_source_form.read(visit.form, kind))
    except ApiError as refused:
        if refused.status == 403:
            raise
        return _new(visit, refused)
    return visit.go(f"/data/{made.id}", done="saved")


@routes.post("/data/check")
def check(visit: Someone) -> Response:
    """Tell what the API would say of the form as it is now; of fields that are still empty it says nothing."""
    form, kind = visit.form, _kind(visit)
    authorize(
        visit.context, visit.caller, "data-sets.make" if kind == data_source_form.OWN else "sources.make"
    )
    known = ["name", *data_source_form.fields(kind)]
    empty = {name for name in known if not form.text(name)}
    found = data_source_form.wrong(form, kind, visit.context.config)
    found = [p for p in found if data_source_form.field_of(p) not in empty]
    return visit.page(
        "data_check.html",
        problems=[p for p in found if data_source_form.field_of(p) not in known],
        whole=not found and not empty & {"name", *data_source_form.needed(kind)},
        fields=[name for name in known if name not in empty],
        errors=data_source_form.by_field(found),
    )


def _show(visit: PageRequest, id: str, refused: ApiError | None = None) -> Response:
    one = data_sets.show_data_set(visit.context, visit.caller, id)
    # A reader does not see who else reads it, nor of whose runs it is in use.
    changes = "data-sets.change"
    whole = one.owner == visit.caller.me.name or visit.caller.me.admin
    if whole:
        authorize(visit.context, visit.caller, changes, owner=one.owner)
    return visit.page(
        "data_set.html",
        refused=refused,
        one=one,
        state=state(one),
        place={name: str(one.source[name]) for name in one.source if name != "kind"},
        whole=whole,
        shares=data_sets.list_shares(visit.context, visit.caller, id) if whole else [],
        uses=data_sets.list_uses(visit.context, visit.caller, id) if whole else [],
        words_of_files={code: reply for code in FILES if (reply := visit.words.of_problem(code))},
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
        data_sets.share_data_set(
            visit.context, visit.caller, id, forms.as_model(ShareIn, {kind: form.given("name")})
        )
    except ApiError as refused:
        if refused.status == 403:
            raise
        return _show(visit, id, refused)
    return visit.go(f"/data/{id}", done="shared")


@routes.post("/data/{id}/shares/{kind}/{name}/end")
def unshare(id: Ref, kind: Literal["user", "group"], name: Ref, visit: Someone) -> Response:
    """Take that back."""
    data_sets.unshare_data_set(visit.context, visit.caller, id, kind, name)
    return visit.go(f"/data/{id}", done="unshared")


@routes.post("/data/{id}/limit")
def limit(id: Ref, visit: Someone) -> Response:
    """Choose its limit."""

    def change() -> None:
        body = forms.as_model(LimitIn, {"quota": forms.scaled(visit.form.text("quota"), GIB)})
        data_sets.limit_data_set(visit.context, visit.caller, id, body)

    return visit.changed(change, partial(_show, visit, id), f"/data/{id}", "saved")


@routes.post("/data/{id}/delete")
def delete(id: Ref, visit: Someone) -> Response:
    """Delete it with its files; refused while a run names it."""
    return visit.changed(
        lambda: data_sets.delete_data_set(visit.context, visit.caller, id),
        partial(_show, visit, id),
        "/data",
        "deleted",
    )
