"""All nodes and what is free on them."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.services.cluster import show_cluster
from ava.web.nodes import by_model, sorted_nodes
from ava.web.request import Someone

routes = APIRouter()


@routes.get("/nodes")
def nodes(visit: Someone) -> Response:
    """Show what is available now (A-SC8)."""
    report = show_cluster(visit.context, visit.caller)
    template = "nodes_part.html" if visit.partial else "nodes.html"
    return visit.page(
        template, cluster=report, models=by_model(report.nodes), nodes=sorted_nodes(report.nodes)
    )
