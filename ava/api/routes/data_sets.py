"""Data sets: made, shown, shared, deleted (U2); and the limits of folders of the shared file system (U1)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

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
from ava.services.auth.caller import Someone

routes = router("data sets")


@routes.get("/data-sets")
def list_data_sets(who: Someone, query: Annotated[DataSetsQuery, Query()]) -> Paged[DataSetOut]:
    """Return data sets, newest first."""
    return data_sets.list_data_sets(who, query)


@routes.post("/data-sets", status_code=201)
def make_data_set(body: DataSetMake, who: Someone) -> DataSetOut:
    """Make a data set; the same once more changes nothing."""
    return data_sets.make_data_set(who, body)


@routes.get("/data-sets/{id}")
def show_data_set(id: Ref, who: Someone) -> DataSetOut:
    """Return a data set."""
    return data_sets.show_data_set(who, id)


@routes.delete("/data-sets/{id}", status_code=204)
def delete_data_set(id: Ref, who: Someone) -> None:
    """Delete a data set with its files; 409 while a run that has not finished names it."""
    data_sets.delete_data_set(who, id)


@routes.get("/data-sets/{id}/runs")
def list_uses(id: Ref, who: Someone) -> list[UseOut]:
    """Return the runs that name a data set and have not finished: why it cannot be deleted or written."""
    return data_sets.list_uses(who, id)


@routes.get("/data-sets/{id}/shares")
def list_shares(id: Ref, who: Someone) -> list[ShareOut]:
    """Return with whom a data set is shared."""
    return data_sets.list_shares(who, id)


@routes.post("/data-sets/{id}/shares", status_code=204)
def share_data_set(id: Ref, body: ShareIn, who: Someone) -> None:
    """Let a user, or the members of a group, read a data set."""
    data_sets.share_data_set(who, id, body)


@routes.delete("/data-sets/{id}/shares/{kind}/{name}", status_code=204)
def unshare_data_set(id: Ref, kind: Literal["user", "group"], name: Ref, who: Someone) -> None:
    """Take that back. No further run gets it; those that have it (GET …/runs) keep it until they end."""
    data_sets.unshare_data_set(who, id, kind, name)


@routes.put("/data-sets/{id}/quota")
def limit_data_set(id: Ref, body: LimitIn, who: Someone) -> DataSetOut:
    """Choose the limit of a data set."""
    return data_sets.limit_data_set(who, id, body)


@routes.get("/users/{name}/storage")
def show_home(name: Ref, who: Someone) -> HomeOut:
    """Return a user's home in the shared file system, with its limit and what is in it."""
    return data_sets.show_home(who, name)


@routes.put("/users/{name}/storage")
def limit_home(name: Ref, body: LimitIn, who: Someone) -> HomeOut:
    """Choose the limit of a user's home; null: the site's. It is in force a moment later."""
    return data_sets.limit_home(who, name, body)


@routes.get("/groups/{name}/storage")
def show_group_folder(name: Ref, who: Someone) -> FolderOut:
    """Return a group's folder in the shared file system; its limit is the ``storage`` of the group's quota."""
    return data_sets.show_group_folder(who, name)
