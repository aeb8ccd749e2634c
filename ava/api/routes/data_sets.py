"""Data sets: made, shown, shared, deleted (U2); and the limits of folders of the shared file system (U1)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged
from ava.schemas.data_sets import (
    DataSetMake,
    DataSetOut,
    DataSetsQuery,
    FolderOut,
    HomeOut,
    LimitIn,
    ShareIn,
    ShareOut,
    UseOut,
)
from ava.services import data_sets

routes = router("data sets")


@routes.get("/data-sets")
def list_data_sets(
    context: CurrentContext, caller: Someone, query: Annotated[DataSetsQuery, Query()]
) -> Paged[DataSetOut]:
    """Return data sets, newest first."""
    return data_sets.list_data_sets(context, caller, query)


@routes.post("/data-sets", status_code=201)
def make_data_set(body: DataSetMake, context: CurrentContext, caller: Someone) -> DataSetOut:
    """Make a data set; the same once more changes nothing."""
    return data_sets.make_data_set(context, caller, body)


@routes.get("/data-sets/{id}")
def show_data_set(id: Ref, context: CurrentContext, caller: Someone) -> DataSetOut:
    """Return a data set."""
    return data_sets.show_data_set(context, caller, id)


@routes.delete("/data-sets/{id}", status_code=204)
def delete_data_set(id: Ref, context: CurrentContext, caller: Someone) -> None:
    """Delete a data set with its files; 409 while a run that has not finished names it."""
    data_sets.delete_data_set(context, caller, id)


@routes.get("/data-sets/{id}/runs")
def list_uses(id: Ref, context: CurrentContext, caller: Someone) -> list[UseOut]:
    """Return the runs that name a data set and have not finished: why it cannot be deleted or written."""
    return data_sets.list_uses(context, caller, id)


@routes.get("/data-sets/{id}/shares")
def list_shares(id: Ref, context: CurrentContext, caller: Someone) -> list[ShareOut]:
    """Return with whom a data set is shared."""
    return data_sets.list_shares(context, caller, id)


@routes.post("/data-sets/{id}/shares", status_code=204)
def share_data_set(id: Ref, body: ShareIn, context: CurrentContext, caller: Someone) -> None:
    """Let a user, or the members of a group, read a data set."""
    data_sets.share_data_set(context, caller, id, body)


@routes.delete("/data-sets/{id}/shares/{kind}/{name}", status_code=204)
def unshare_data_set(
    id: Ref, kind: Literal["user", "group"], name: Ref, context: CurrentContext, caller: Someone
) -> None:
    """Take that back. No further run gets it; those that have it (GET …/runs) keep it until they end."""
    data_sets.unshare_data_set(context, caller, id, kind, name)


@routes.put("/data-sets/{id}/quota")
def limit_data_set(id: Ref, body: LimitIn, context: CurrentContext, caller: Someone) -> DataSetOut:
    """Choose the limit of a data set."""
    return data_sets.limit_data_set(context, caller, id, body)


@routes.get("/users/{name}/storage")
def show_home(name: Ref, context: CurrentContext, caller: Someone) -> HomeOut:
    """Return a user's home in the shared file system, with its limit and what is in it."""
    return data_sets.show_home(context, caller, name)


@routes.put("/users/{name}/storage")
def limit_home(name: Ref, body: LimitIn, context: CurrentContext, caller: Someone) -> HomeOut:
    """Choose the limit of a user's home; null: the site's. It is in force a moment later."""
    return data_sets.limit_home(context, caller, name, body)


@routes.get("/groups/{name}/storage")
def show_group_folder(name: Ref, context: CurrentContext, caller: Someone) -> FolderOut:
    """Return a group's folder in the shared file system; its limit is the ``storage`` of the group's quota."""
    return data_sets.show_group_folder(context, caller, name)
