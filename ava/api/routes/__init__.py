"""The addresses of the interface, one file per kind of object."""

from __future__ import annotations

from fastapi import APIRouter

from ava.api.routes import (
    audit,
    cluster,
    confirmations,
    data_sets,
    definitions,
    groups,
    images,
    invitations,
    keys,
    logs,
    model_services,
    node_drains,
    oidc,
    pushed_images,
    queues,
    registrations,
    registry,
    runs,
    sessions,
    tokens,
    usage,
    users,
    workbenches,
)
from ava.http.routing import router

ALL = (
    registrations,
    sessions,
    oidc,
    tokens,
    users,
    confirmations,
    invitations,
    groups,
    queues,
    definitions,
    runs,
    model_services,
    node_drains,
    logs,
    usage,
    keys,
    data_sets,
    cluster,
    images,
    pushed_images,
    registry,
    audit,
    workbenches,
)


def api() -> APIRouter:
    """Return all routes."""
    whole = router("")
    for module in ALL:
        whole.include_router(module.routes)
    return whole
