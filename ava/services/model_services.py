"""Model services: state and number of replicas."""

from __future__ import annotations

from ava.domain.model import Run
from ava.schemas.model_services import Scale, ServiceOut
from ava.services import serializers
from ava.services.auth.authorization import record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.runs.runs import find_run


def _shown(context: Context, caller: Caller, run: Run) -> ServiceOut:
    db, domain = context.db, context.config.services_domain
    known = db.model_services.get(run.id)
    pods = db.pods.list([run.id]).get(run.id, ())
    report = run.spec.get("serving") or {}
    return serializers.answer(
        ServiceOut,
        known,
        ready=sum(pod.ready for pod in pods),
        revision=known.target,
        address=f"https://{known.address}.{domain}/" if domain else None,
        access=str(report.get("access", "group")),
        charged=serializers.amounts(run.asks),
    )


def show_service(context: Context, caller: Caller, id: str) -> ServiceOut:
    """Return what there is of a service; 404 for a run that is none."""
    return _shown(context, caller, find_run(context, caller, id, "services.show"))


def scale(context: Context, caller: Caller, id: str, body: Scale) -> ServiceOut:
    """Set how many replicas are wanted, within the definition's bounds; they come as the quota has room for them."""
    found = find_run(context, caller, id, "services.scale")
    with record_change(context, caller, "services.scale", f"run {found.id}", replicas=body.replicas):
        context.db.model_services.scale(found.id, body.replicas, context.clock())
    return _shown(context, caller, context.db.runs.get(found.id))
