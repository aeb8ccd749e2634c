"""Services: what there is of one, and how many replicas it shall have."""

from __future__ import annotations

from fastapi import Request, Response

from ava.http.dependencies import CurrentContext, Someone, caller_of, context_of
from ava.http.routing import Ref, router
from ava.schemas.model_services import Scale, ServiceOut
from ava.services import model_services
from ava.services.auth import service_access
from ava.services.auth.service_access import Callers

routes = router("services")


@routes.get("/runs/{id}/service")
def show_service(id: Ref, context: CurrentContext, caller: Someone) -> ServiceOut:
    """Return what there is of a service; 404 for a run that is none."""
    return model_services.show_service(context, caller, id)


@routes.post("/runs/{id}/scale")
def scale(id: Ref, body: Scale, context: CurrentContext, caller: Someone) -> ServiceOut:
    """Set how many replicas are wanted, within the definition's bounds; they come as the quota has room for them."""
    return model_services.scale(context, caller, id, body)


def _callers(request: Request) -> Callers:
    """Return what this process remembers of callers."""
    state = request.app.state
    found: Callers | None = getattr(state, "callers", None)
    if found is None or found.db is not state.services.db:
        found = state.callers = Callers(state.services.db)
    return found


@routes.get("/services/caller", include_in_schema=False)
def caller(request: Request) -> Response:
    """Answer the ingress whether who asks may call the service that X-Forwarded-Host names; 204 with who it is."""
    context, callers = context_of(request), _callers(request)
    host = request.headers.get("x-forwarded-host", "")
    label, group = service_access.find_service(context, callers, host)
    name = service_access.permit(context, callers, label, group, caller_of(request))
    return Response(status_code=204, headers={service_access.WHO: name})
