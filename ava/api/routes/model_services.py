"""Services: what there is of one, and how many replicas it shall have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from ava.api.routes.common import Ref, router
from ava.api.routes.runs import the_run
from ava.domain.model import Run
from ava.schemas.model_services import Scale, ServiceOut
from ava.services import serializers
from ava.services.auth import service_access
from ava.services.auth.caller import Caller, Someone

routes = router("services")


def _shown(who: Caller, run: Run) -> ServiceOut:
    store, domain = who.services.store, who.services.config.services_domain
    known = store.service(run.id)
    pods = store.pods([run.id]).get(run.id, ())
    said = run.spec.get("serving") or {}
    return ServiceOut(
        run=run.id,
        wanted=known.wanted,
        ready=sum(pod.ready for pod in pods),
        revision=known.target,
        settled=known.settled,
        address=f"https://{known.address}.{domain}/" if domain else None,
        access=str(said.get("access", "group")),
        charged=serializers.amounts(run.asks),
        scaled=known.scaled,
        trouble=known.trouble,
    )


@routes.get("/runs/{id}/service")
def show_service(id: Ref, who: Someone) -> ServiceOut:
    """Return what there is of a service; 404 for a run that is none."""
    return _shown(who, the_run(who, id, "services.show"))


@routes.post("/runs/{id}/scale")
def scale(id: Ref, body: Scale, who: Someone) -> ServiceOut:
    """Set how many replicas are wanted, within the definition's bounds; they come as the quota has room for them."""
    found = the_run(who, id, "services.scale")
    with who.change("services.scale", f"run {found.id}", replicas=body.replicas):
        who.services.store.scale_service(found.id, body.replicas, who.services.clock())
    return _shown(who, who.services.store.run(found.id))


@routes.get("/services/caller", include_in_schema=False)
def caller(found: Annotated[str, Depends(service_access.caller)]) -> Response:
    """Answer the ingress whether who asks may call the service of a host name (callers.py); 204 with who it is."""
    return Response(status_code=204, headers={service_access.WHO: found})
