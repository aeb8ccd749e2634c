"""What a run uses, as figures for the charts of its page."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.domain.labels import namespace
from ava.domain.model import Phase
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http.responses import Json
from ava.http.routing import Ref
from ava.services.runs import runs
from ava.web import metrics
from ava.web.i18n import N_
from ava.web.request import HEADERS, Someone

routes = APIRouter()
TITLES = {
    "gpu": N_("GPU use of each of its cards, %"),
    "cpu": N_("CPU cores used"),
    "memory": N_("Memory used"),
}


@routes.get("/runs/{id}/charts")
def charts(id: Ref, visit: Someone) -> Response:
    """Return the charts of a run; none where nothing is measured."""
    run = runs.find_run(visit.context, visit.caller, id, "runs.show")
    context = visit.context
    if run.admitted is None:
        return Json({"charts": [], "live": run.phase is not Phase.FINISHED}, headers=HEADERS)
    titles = {key: visit.words(text) for key, text in TITLES.items()}
    wanted = metrics.charts(namespace(run.group), run.id, run.asks.gpu, titles)
    try:
        found = metrics.read(context.config.prometheus, wanted, run.admitted, run.finished or context.clock())
    except metrics.MetricsUnavailable as error:
        what = Phrase("The figures cannot be read at the moment.")
        problem = Problem(
            "figures-unavailable",
            what,
            "prometheus",
            str(error),
            Phrase("an answer"),
            Phrase("Try again later."),
        )
        raise ApiError(503, problem) from error
    return Json({"charts": found, "live": run.phase is not Phase.FINISHED}, headers=HEADERS)
