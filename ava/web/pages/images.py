"""Images: those that the site offers, and those that one and one's groups have pushed, with what they take; deleted."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.domain.problems import ApiError
from ava.schemas.images import PushedQuery
from ava.services import images
from ava.services.registry import pushed_images
from ava.web import forms
from ava.web.request import PageRequest, Someone

routes = APIRouter()


def _show(visit: PageRequest, refused: ApiError | None = None) -> Response:
    asked = visit.request.query_params
    query = forms.as_model(
        PushedQuery, {"user": asked.get("user") or None, "group": asked.get("group") or None}
    )
    pushed = visit.context.config.user_registry
    accounts, silent = [], False
    if pushed is not None:
        try:
            accounts = pushed_images.list_pushed(visit.context, visit.caller, query)
        except ApiError as away:
            # What the site offers is shown whether the registry answers or not.
            if away.status != 503:
                raise
            silent = True
    return visit.page(
        "images.html",
        refused=refused,
        offered=images.list_images(visit.context, visit.caller),
        accounts=accounts,
        silent=silent,
        host=pushed.host if pushed is not None else "",
    )


@routes.get("/images")
def list_images(visit: Someone) -> Response:
    """Show them."""
    return _show(visit)


@routes.post("/images/delete")
def delete(visit: Someone) -> Response:
    """Delete one that was pushed; refused while something uses it."""
    return visit.changed(
        lambda: pushed_images.delete_pushed(visit.context, visit.caller, visit.form.text("image")),
        lambda refused: _show(visit, refused),
        "/images",
        "deleted",
    )
