"""Data sets: create, show, share, delete (U2); limits of folders of the shared file system (U1)."""

from __future__ import annotations

from typing import Literal

from ava.domain.data_sets import DataSet
from ava.domain.folders import Folder, FolderKind
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.common import Paged
from ava.schemas.data_sets import (
    DataSetMake,
    DataSetOut,
    DataSetsQuery,
    ElsewhereOut,
    FolderOut,
    HomeOut,
    LimitIn,
    ShareIn,
    ShareOut,
    UseOut,
)
from ava.services import pagination
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find, user_name
from ava.services.runs.rules import sources
from ava.services.serializers import answer


def find_readable(context: Context, caller: Caller, ref: str) -> DataSet:
    """Return a data set that somebody may read; of another one it says the same as of none."""
    one = find(context.db.data_sets.get, "data set", ref, "path.id")
    shared = caller.user is not None and context.db.data_sets.may_read(one.id, caller.me.name)
    owner = caller.me.name if shared else one.owner
    authorize(
        context, caller, "data-sets.show", owner=owner, what=Phrase("data set {id}", id=ref), where="path.id"
    )
    return one


def find_changeable(context: Context, caller: Caller, ref: str, action: str = "data-sets.change") -> DataSet:
    """Return a data set that somebody may change; a reader gets 403."""
    one = find_readable(context, caller, ref)
    try:
        authorize(
            context, caller, action, owner=one.owner, what=Phrase("data set {id}", id=one.id), where="path.id"
        )
    except ApiError as refused:
        if refused.status != 404:
            raise
        what = Phrase("The data set {name} is shared with you to be read.", name=one.name)
        raise ApiError(
            403,
            Problem(
                "not-allowed",
                what,
                "path.id",
                Phrase("reader"),
                Phrase("its owner"),
                Phrase("Ask {name}.", name=one.owner),
            ),
        ) from None
    return one


def _folder(folder: Folder) -> FolderOut:
    return answer(FolderOut, folder)


def _home(context: Context, caller: Caller, name: str) -> HomeOut:
    db = context.db
    folder = _folder(db.folders.get(FolderKind.USER, name))
    return HomeOut(
        **folder.model_dump(),
        chosen=db.folders.home_quota(name),
        data_sets=db.data_sets.promised(name),
        data_sets_most=context.config.owner_quota,
    )


def _shape(context: Context, caller: Caller, one: DataSet) -> DataSetOut:
    folder = elsewhere = None
    if one.source["kind"] == "folder":
        folder = _folder(context.db.folders.get(FolderKind.DATA_SET, one.id))
    else:
        seen = context.db.external_sources.get(one.id)
        ready = bool(seen.volume) or one.source["kind"] != "rbd"
        elsewhere = answer(ElsewhereOut, seen, ready=ready)
    return answer(DataSetOut, one, folder=folder, elsewhere=elsewhere)


def list_data_sets(context: Context, caller: Caller, query: DataSetsQuery) -> Paged[DataSetOut]:
    """Return data sets, newest first."""
    authorize(context, caller, "data-sets.list-all" if query.all else "data-sets.list")
    scope = f"data sets {query.all}"
    found = context.db.data_sets.list(
        reader=None if query.all else caller.me.name,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    return pagination.page(context, caller, found, scope, lambda one: _shape(context, caller, one))


def make_data_set(context: Context, caller: Caller, body: DataSetMake) -> DataSetOut:
    """Make a data set; the same once more changes nothing."""
    authorize(context, caller, "data-sets.make")
    source = body.source.model_dump(exclude_none=True)
    if source["kind"] != "folder":
        authorize(context, caller, "sources.make")
        sources.allowed(source, context.config)
        if body.quota is not None:
            what, remedy = Phrase("Only a folder of its own has a limit."), Phrase("Leave the limit out.")
            raise ApiError(
                422, Problem("quota-unfit", what, "body.quota", str(body.quota), Phrase("nothing"), remedy)
            )
    config = context.config
    with record_change(context, caller, "data-sets.make", f"data set {body.name}", source=source):
        made = context.db.data_sets.create(
            caller.me.name,
            body.name,
            source,
            context.clock(),
            quota=body.quota if body.quota is not None else config.data_set_quota,
            most=config.owner_quota,
        )
        return _shape(context, caller, made)


def show_data_set(context: Context, caller: Caller, id: str) -> DataSetOut:
    """Return a data set."""
    return _shape(context, caller, find_readable(context, caller, id))


def delete_data_set(context: Context, caller: Caller, id: str) -> None:
    """Delete a data set with its files; 409 while a run that has not finished names it."""
    one = find_changeable(context, caller, id)
    with record_change(context, caller, "data-sets.change", f"data set {one.id}", deleted=one.name):
        context.db.data_sets.delete(one.id, context.clock())


def list_uses(context: Context, caller: Caller, id: str) -> list[UseOut]:
    """Return the runs that name a data set and have not finished: why it cannot be deleted or written."""
    one = find_changeable(context, caller, id)
    return [
        UseOut(run=run, writes=writes, admitted=had) for run, writes, had in context.db.data_sets.uses(one.id)
    ]


def list_shares(context: Context, caller: Caller, id: str) -> list[ShareOut]:
    """Return with whom a data set is shared."""
    one = find_changeable(context, caller, id)
    return [answer(ShareOut, s) for s in context.db.data_sets.shares(one.id)]


def share_data_set(context: Context, caller: Caller, id: str, body: ShareIn) -> None:
    """Let a user, or the members of a group, read a data set."""
    one = find_changeable(context, caller, id)
    kind, name = _with(body)
    with record_change(context, caller, "data-sets.change", f"data set {one.id}", shared=f"{kind} {name}"):
        context.db.data_sets.share(one.id, kind, name, context.clock())


def unshare_data_set(
    context: Context, caller: Caller, id: str, kind: Literal["user", "group"], name: str
) -> None:
    """Take that back. No further run gets it; those that have it (GET …/runs) keep it until they end."""
    one = find_changeable(context, caller, id)
    with record_change(context, caller, "data-sets.change", f"data set {one.id}", unshared=f"{kind} {name}"):
        context.db.data_sets.unshare(one.id, kind, name)


def limit_data_set(context: Context, caller: Caller, id: str, body: LimitIn) -> DataSetOut:
    """Choose the limit of a data set."""
    one = find_changeable(context, caller, id, "data-sets.quota")
    with record_change(context, caller, "data-sets.quota", f"data set {one.id}", quota=body.quota):
        return _shape(context, caller, context.db.data_sets.set_quota(one.id, body.quota, context.clock()))


def show_home(context: Context, caller: Caller, name: str) -> HomeOut:
    """Return a user's home in the shared file system, with its limit and what is in it."""
    person = find(context.db.users.get, "user", user_name(caller, name), "path.name")
    authorize(
        context,
        caller,
        "users.show",
        owner=person.name,
        what=Phrase("user {name}", name=name),
        where="path.name",
    )
    return _home(context, caller, person.name)


def limit_home(context: Context, caller: Caller, name: str, body: LimitIn) -> HomeOut:
    """Choose the limit of a user's home; null: the site's. It is in force a moment later."""
    person = find(context.db.users.get, "user", name, "path.name")
    authorize(
        context,
        caller,
        "users.storage",
        owner=person.name,
        what=Phrase("user {name}", name=name),
        where="path.name",
    )
    with record_change(context, caller, "users.storage", f"user {person.name}", quota=body.quota):
        context.db.folders.set_home_quota(person.name, body.quota, context.clock())
    return _home(context, caller, person.name)


def show_group_folder(context: Context, caller: Caller, name: str) -> FolderOut:
    """Return a group's folder in the shared file system; its limit is the ``storage`` of the group's quota."""
    group = find(context.db.groups.get, "group", name, "path.name")
    authorize(
        context, caller, "groups.show", group=group, what=Phrase("group {name}", name=name), where="path.name"
    )
    return _folder(context.db.folders.get(FolderKind.GROUP, group.name))


def _with(body: ShareIn) -> tuple[str, str]:
    if (body.user is None) == (body.group is None):
        raise ApiError(
            422,
            Problem(
                "share-invalid",
                Phrase("No user or group given."),
                "body",
                Phrase("both or none"),
                Phrase("either user or group"),
            ),
        )
    return ("user", body.user) if body.user is not None else ("group", str(body.group))
