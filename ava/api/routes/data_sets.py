"""Data sets: made, shown, shared, deleted (U2); and the limits of folders of the shared file system (U1)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from ava.api.routes.common import Ref, find, myself, router
from ava.domain.data_sets import DataSet
from ava.domain.folders import Folder, FolderKind
from ava.domain.problems import ApiError, Problem
from ava.schemas.common import Paged
from ava.schemas.data_sets import (
    DataSetMake,
    DataSetOut,
    ElsewhereOut,
    FolderOut,
    HomeOut,
    LimitIn,
    ShareIn,
    ShareOut,
    UseOut,
)
from ava.services import pagination
from ava.services.auth.caller import Caller, Someone
from ava.services.runs.rules import sources

routes = router("data sets")


class DataSetsQuery(pagination.PageQuery):
    """Which data sets."""

    all: bool = False
    """Everybody's, for administrators; else one's own and those that are shared with one."""


def readable(who: Caller, ref: str) -> DataSet:
    """Return a data set that somebody may read; of another one it says the same as of none."""
    one = find(who.services.store.data_set, "data set", ref, "path.id")
    shared = who.user is not None and who.services.store.may_read(one.id, who.me.name)
    owner = who.me.name if shared else one.owner
    who.may("data-sets.show", owner=owner, what=f"data set {ref}", where="path.id")
    return one


def changeable(who: Caller, ref: str, action: str = "data-sets.change") -> DataSet:
    """Return a data set that somebody may change; who may but read it is told so (403)."""
    one = readable(who, ref)
    try:
        who.may(action, owner=one.owner, what=f"data set {one.id}", where="path.id")
    except ApiError as refused:
        if refused.status != 404:
            raise
        what = f"The data set {one.name} is shared with you to be read."
        raise ApiError(
            403, Problem("not-allowed", what, "path.id", "reader", "its owner", f"Ask {one.owner}.")
        ) from None
    return one


def _folder(folder: Folder) -> FolderOut:
    return FolderOut(
        made=folder.made,
        quota=folder.quota,
        used=folder.used,
        files=folder.files,
        seen=folder.seen,
        trouble=folder.trouble,
    )


def _home(who: Caller, name: str) -> HomeOut:
    store = who.services.store
    folder = _folder(store.folder(FolderKind.USER, name))
    return HomeOut(
        **folder.model_dump(),
        chosen=store.home_quota(name),
        data_sets=store.data_set_usage(name),
        data_sets_most=who.services.config.owner_quota,
    )


def _shape(who: Caller, one: DataSet) -> DataSetOut:
    folder = elsewhere = None
    if one.source["kind"] == "folder":
        folder = _folder(who.services.store.folder(FolderKind.DATA_SET, one.id))
    else:
        seen = who.services.store.elsewhere(one.id)
        elsewhere = ElsewhereOut(
            ready=bool(seen.volume) or one.source["kind"] != "rbd",
            size=seen.size,
            cached=seen.cached,
            seen=seen.seen,
            trouble=seen.trouble,
        )
    return DataSetOut(
        id=one.id,
        owner=one.owner,
        name=one.name,
        source=one.source,
        quota=one.quota,
        readers=one.readers,
        writers=one.writers,
        created=one.created,
        folder=folder,
        elsewhere=elsewhere,
    )


@routes.get("/data-sets")
def list_data_sets(who: Someone, query: Annotated[DataSetsQuery, Query()]) -> Paged[DataSetOut]:
    """Return data sets, newest first."""
    who.may("data-sets.list-all" if query.all else "data-sets.list")
    scope = f"data sets {query.all}"
    found = who.services.store.data_sets(
        reader=None if query.all else who.me.name,
        after=pagination.opened(who, query, scope),
        limit=query.limit,
    )
    return pagination.page(who, found, scope, lambda one: _shape(who, one))


@routes.post("/data-sets", status_code=201)
def make_data_set(body: DataSetMake, who: Someone) -> DataSetOut:
    """Make a data set; the same once more changes nothing."""
    who.may("data-sets.make")
    source = body.source.model_dump(exclude_none=True)
    if source["kind"] != "folder":
        who.may("sources.make")
        sources.allowed(source, who.services.config)
        if body.quota is not None:
            what, remedy = "Only a folder of its own has a limit.", "Leave the limit out."
            raise ApiError(
                422, Problem("quota-unfit", what, "body.quota", str(body.quota), "nothing", remedy)
            )
    config = who.services.config
    with who.change("data-sets.make", f"data set {body.name}", source=source):
        made = who.services.store.add_data_set(
            who.me.name,
            body.name,
            source,
            who.services.clock(),
            quota=body.quota if body.quota is not None else config.data_set_quota,
            most=config.owner_quota,
        )
        return _shape(who, made)


@routes.get("/data-sets/{id}")
def show_data_set(id: Ref, who: Someone) -> DataSetOut:
    """Return a data set."""
    return _shape(who, readable(who, id))


@routes.delete("/data-sets/{id}", status_code=204)
def delete_data_set(id: Ref, who: Someone) -> None:
    """Delete a data set with its files; 409 while a run that has not finished names it."""
    one = changeable(who, id)
    with who.change("data-sets.change", f"data set {one.id}", deleted=one.name):
        who.services.store.delete_data_set(one.id, who.services.clock())


@routes.get("/data-sets/{id}/runs")
def list_uses(id: Ref, who: Someone) -> list[UseOut]:
    """Return the runs that name a data set and have not finished: why it cannot be deleted or written."""
    one = changeable(who, id)
    return [
        UseOut(run=run, writes=writes, admitted=had)
        for run, writes, had in who.services.store.users_of(one.id)
    ]


@routes.get("/data-sets/{id}/shares")
def list_shares(id: Ref, who: Someone) -> list[ShareOut]:
    """Return with whom a data set is shared."""
    one = changeable(who, id)
    return [ShareOut(kind=s.kind, who=s.who, since=s.since) for s in who.services.store.shares(one.id)]


@routes.post("/data-sets/{id}/shares", status_code=204)
def share_data_set(id: Ref, body: ShareIn, who: Someone) -> None:
    """Let a user, or the members of a group, read a data set."""
    one = changeable(who, id)
    kind, name = _with(body)
    with who.change("data-sets.change", f"data set {one.id}", shared=f"{kind} {name}"):
        who.services.store.share(one.id, kind, name, who.services.clock())


@routes.delete("/data-sets/{id}/shares/{kind}/{name}", status_code=204)
def unshare_data_set(id: Ref, kind: Literal["user", "group"], name: Ref, who: Someone) -> None:
    """Take that back. No further run gets it; those that have it (GET …/runs) keep it until they end."""
    one = changeable(who, id)
    with who.change("data-sets.change", f"data set {one.id}", unshared=f"{kind} {name}"):
        who.services.store.unshare(one.id, kind, name)


@routes.put("/data-sets/{id}/quota")
def limit_data_set(id: Ref, body: LimitIn, who: Someone) -> DataSetOut:
    """Choose the limit of a data set."""
    one = changeable(who, id, "data-sets.quota")
    with who.change("data-sets.quota", f"data set {one.id}", quota=body.quota):
        return _shape(who, who.services.store.set_data_set_quota(one.id, body.quota, who.services.clock()))


@routes.get("/users/{name}/storage")
def show_home(name: Ref, who: Someone) -> HomeOut:
    """Return a user's home in the shared file system, with its limit and what is in it."""
    person = find(who.services.store.user, "user", myself(who, name), "path.name")
    who.may("users.show", owner=person.name, what=f"user {name}", where="path.name")
    return _home(who, person.name)


@routes.put("/users/{name}/storage")
def limit_home(name: Ref, body: LimitIn, who: Someone) -> HomeOut:
    """Choose the limit of a user's home; null: the site's. It is in force a moment later."""
    person = find(who.services.store.user, "user", name, "path.name")
    who.may("users.storage", owner=person.name, what=f"user {name}", where="path.name")
    with who.change("users.storage", f"user {person.name}", quota=body.quota):
        who.services.store.set_home_quota(person.name, body.quota, who.services.clock())
    return _home(who, person.name)


@routes.get("/groups/{name}/storage")
def show_group_folder(name: Ref, who: Someone) -> FolderOut:
    """Return a group's folder in the shared file system; its limit is the ``storage`` of the group's quota."""
    group = find(who.services.store.group, "group", name, "path.name")
    who.may("groups.show", group=group, what=f"group {name}", where="path.name")
    return _folder(who.services.store.folder(FolderKind.GROUP, group.name))


def _with(body: ShareIn) -> tuple[str, str]:
    if (body.user is None) == (body.group is None):
        raise ApiError(
            422,
            Problem("share-invalid", "Not said with whom.", "body", "both or none", "either user or group"),
        )
    return ("user", body.user) if body.user is not None else ("group", str(body.group))
