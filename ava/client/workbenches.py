"""Workbenches, and how one gets into them."""

from __future__ import annotations

from collections.abc import Iterator

from ava.client.base import Resource
from ava.schemas.workbenches import WorkbenchOut


class WorkbenchesApi(Resource):
    """One's own workbenches."""

    def workbenches(self, *, most: int | None = None) -> Iterator[WorkbenchOut]:
        """Yield one's own workbenches, newest first."""
        return self._all(WorkbenchOut, "/workbenches", {}, most)

    def workbench(self, id: str) -> WorkbenchOut:
        """Return a workbench."""
        return self._one(WorkbenchOut, "GET", f"/workbenches/{id}")

    def grow_disk(self, id: str, size: int) -> WorkbenchOut:
        """Have a workbench's disk be larger, bytes."""
        return self._one(WorkbenchOut, "PUT", f"/workbenches/{id}/disk", json={"size": size})

    def exempt_idle(self, id: str, exempt: bool) -> WorkbenchOut:
        """Choose whether a workbench is never stopped for being idle; for administrators."""
        return self._one(WorkbenchOut, "PUT", f"/workbenches/{id}/idle", json={"exempt": exempt})
