"""What a run uses, as figures for the charts of its page."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.api.answer import Json
from ava.api.routes import runs
from ava.api.routes.common import Ref
from ava.web.visit import Someone

routes = APIRouter()


@routes.get("/runs/{id}/charts")
def charts(id: Ref, visit: Someone) -> Response:
    """Return the charts of a run; none where nothing is measured."""
    runs.the_run(visit.who, id, "runs.show")
    return Json({"charts": [], "live": False})
