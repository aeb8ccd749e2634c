"""Queues, what waits in them, and pools of nodes; administrators change them."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Response

from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.common import QuotaIn, SettingName
from ava.schemas.runs import PoolPut, QueuePut
from ava.services import queues
from ava.web import forms, quotas
from ava.web.request import PageRequest, Someone

routes = APIRouter()


def _edited(visit: PageRequest, known: str) -> str:
    """Return the name that is edited; empty for a new one."""
    return visit.form.get("edit", "") if visit.form else known


def _opened(visit: PageRequest, refused: ApiError | None, about: str) -> bool:
    """Return whether the form is on the page: it was asked for, or what was sent by it was refused."""
    asked = visit.request.query_params
    return (refused is not None and about != "deleted") or "new" in asked or "edit" in asked


def _target(form: forms.Form) -> tuple[str, bool]:
    """Return the name that is made or changed, and whether it has to be known."""
    if edit := form.text("edit"):
        return edit, True
    return form.text("name"), False


def _queues(visit: PageRequest, refused: ApiError | None = None, about: str = "") -> Response:
    found = queues.list_queues(visit.context, visit.caller)
    edited = next((q for q in found if q.name == visit.request.query_params.get("edit")), None)
    values: object = visit.form
    if edited is not None and not visit.form:
        values = {
            **quotas.shown(edited.quota),
            "name": edited.name,
            "pool": edited.pool or "",
            "priority": str(edited.priority),
        }
    return visit.page(
        "queues.html",
        refused=refused,
        about=about,
        queues=found,
        pool_options=[
            ("", visit.words("as the run needs")),
            *((p.name, p.name) for p in queues.list_pools(visit.context, visit.caller)),
        ],
        values=values,
        edited=_edited(visit, edited.name if edited is not None else ""),
        form=_opened(visit, refused, about),
    )


@routes.get("/queues")
def list_queues(visit: Someone) -> Response:
    """Show the queues."""
    return _queues(visit)


@routes.post("/queues")
def put_queue(visit: Someone) -> Response:
    """Make or change a queue."""
    form = visit.form
    try:
        name, known = _target(form)
        name = forms.one(SettingName, name, "name")
        body = forms.as_model(
            QueuePut,
            {
                "pool": form.given("pool"),
                "quota": forms.as_model(QuotaIn, quotas.read(form)),
                "priority": forms.whole(form.text("priority")),
            },
        )
        queues.put_queue(visit.context, visit.caller, name, body, known=known)
    except ApiError as refused:
        if refused.status == 403:
            raise
        return _queues(visit, refused)
    return visit.go("/queues", done="saved")


@routes.post("/queues/{name}/delete")
def delete_queue(name: Ref, visit: Someone) -> Response:
    """Delete a queue; refused while a run in it has not finished."""
    return visit.changed(
        lambda: queues.delete_queue(visit.context, visit.caller, name),
        partial(_queues, visit, about="deleted"),
        "/queues",
        "deleted",
    )


@routes.get("/queues/{name}")
def waiting(name: Ref, visit: Someone) -> Response:
    """Show what waits in a queue; other people's runs have no names."""
    found = queues.list_waiting(visit.context, visit.caller, name)
    return visit.page("waiting.html", name=name, rows=found[:200], more=max(0, len(found) - 200))


def _pools(visit: PageRequest, refused: ApiError | None = None, about: str = "") -> Response:
    found = queues.list_pools(visit.context, visit.caller)
    edited = next((p for p in found if p.name == visit.request.query_params.get("edit")), None)
    values: object = visit.form
    if edited is not None and not visit.form:
        values = {
            "name": edited.name,
            "gpu": "1" if edited.gpu else "",
            "selector": "\n".join(f"{k}={v}" for k, v in edited.selector.items()),
            "cpu_ratio": f"{edited.cpu_ratio:g}",
            "memory_ratio": f"{edited.memory_ratio:g}",
            "gpu_slots": str(edited.gpu_slots),
        }
    return visit.page(
        "pools.html",
        refused=refused,
        about=about,
        pools=found,
        values=values,
        edited=_edited(visit, edited.name if edited is not None else ""),
        form=_opened(visit, refused, about),
    )


@routes.get("/pools")
def list_pools(visit: Someone) -> Response:
    """Show the pools."""
    return _pools(visit)


@routes.post("/pools")
def put_pool(visit: Someone) -> Response:
    """Make or change a pool."""
    form = visit.form
    try:
        name, known = _target(form)
        name = forms.one(SettingName, name, "name")
        given = {
            "gpu": form.get("gpu") == "1",
            "selector": forms.pairs(form.text("selector"), "selector"),
            "cpu_ratio": forms.real(form.text("cpu_ratio")),
            "memory_ratio": forms.real(form.text("memory_ratio")),
            "gpu_slots": forms.whole(form.text("gpu_slots")),
        }
        body = forms.as_model(PoolPut, {k: v for k, v in given.items() if v is not None})
        queues.put_pool(visit.context, visit.caller, name, body, known=known)
    except ApiError as refused:
        if refused.status == 403:
            raise
        return _pools(visit, refused)
    return visit.go("/pools", done="saved")


@routes.post("/pools/{name}/delete")
def delete_pool(name: Ref, visit: Someone) -> Response:
    """Delete a pool; refused while a queue names it or a run goes to it."""
    return visit.changed(
        lambda: queues.delete_pool(visit.context, visit.caller, name),
        partial(_pools, visit, about="deleted"),
        "/pools",
        "deleted",
    )
