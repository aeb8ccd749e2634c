"""Services: what there is of one, and how many replicas it shall have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from ava.http.routing import Ref, router
from ava.schemas.model_services import Scale, ServiceOut
from ava.services import model_services
from ava.services.auth import service_access
from ava.services.auth.caller import Someone

routes = router("services")


@routes.get("/runs/{id}/service")
def show_service(id: Ref, who: Someone) -> ServiceOut:
    """Return what there is of a service; 404 for a run that is none."""
    return model_services.show_service(who, id)


@routes.post("/runs/{id}/scale")
def scale(id: Ref, body: Scale, who: Someone) -> ServiceOut:
    """Set how many replicas are wanted, within the definition's bounds; they come as the quota has room for them."""
    return model_services.scale(who, id, body)


@routes.get("/services/caller", include_in_schema=False)
def caller(found: Annotated[str, Depends(service_access.caller)]) -> Response:
    """Answer the ingress whether who asks may call the service of a host name (callers.py); 204 with who it is."""
    return Response(status_code=204, headers={service_access.WHO: found})
