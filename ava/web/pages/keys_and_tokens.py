"""Keys by which one gets into workbenches and clones code, and tokens for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.common import KeyName
from ava.schemas.users import KeyKind, KeyPut, TokenMake
from ava.services import keys, tokens
from ava.web import forms
from ava.web.request import PageRequest, Someone

routes = APIRouter()


def _keys(visit: PageRequest, refused: ApiError | None = None) -> Response:
    return visit.page(
        "keys.html",
        refused=refused,
        ssh=keys.list_keys(visit.context, visit.caller, "ssh"),
        deploy=keys.list_keys(visit.context, visit.caller, "deploy"),
        # A private key that was refused is not sent back.
        values={k: v for k, v in visit.form.items() if k != "value" or visit.form.get("kind") == "ssh"},
    )


@routes.get("/keys")
def list_keys(visit: Someone) -> Response:
    """Show one's own keys."""
    return _keys(visit)


@routes.post("/keys")
def put_key(visit: Someone) -> Response:
    """Keep a key."""
    form = visit.form
    try:
        name = forms.one(KeyName, form.text("name"), "name")
        field = "private_key" if form.get("kind") == "deploy" else "value"
        value = form.text("value") + ("\n" if field == "private_key" else "")
        body = forms.as_model(KeyPut, {field: value if value.strip() else None})
        keys.put_key(
            visit.context, visit.caller, "deploy" if field == "private_key" else "ssh", name, body, new=True
        )
    except ApiError as refused:
        return _keys(visit, refused)
    return visit.go("/keys", done="stored")


@routes.post("/keys/{kind}/{name}/delete")
def delete_key(kind: KeyKind, name: Annotated[KeyName, Path()], visit: Someone) -> Response:
    """Remove a key."""
    keys.delete_key(visit.context, visit.caller, kind, name)
    return visit.go("/keys", done="deleted")


def _tokens(
    visit: PageRequest, refused: ApiError | None = None, made: str = "", status: int = 200
) -> Response:
    return visit.page(
        "tokens.html",
        status,
        refused=refused,
        tokens=tokens.list_tokens(visit.context, visit.caller),
        most=visit.context.config.token_days,
        made=made,
        values=visit.form,
    )


@routes.get("/tokens")
def list_tokens(visit: Someone) -> Response:
    """Show one's own tokens."""
    return _tokens(visit)


@routes.post("/tokens")
def make_token(visit: Someone) -> Response:
    """Make a token; the answer alone shows it."""
    form = visit.form
    try:
        body = forms.as_model(
            TokenMake,
            {
                "label": form.text("label"),
                "days": forms.whole(form.text("days")),
                "scopes": [form.text("scope")] if form.text("scope") else None,
            },
        )
        made = tokens.make_token(visit.context, visit.caller, body)
    except ApiError as refused:
        return _tokens(visit, refused)
    return _tokens(visit, made=made.token, status=201)


@routes.post("/tokens/{id}/end")
def end_token(id: Ref, visit: Someone) -> Response:
    """End one of one's own tokens."""
    tokens.end_token(visit.context, visit.caller, id)
    return visit.go("/tokens", done="ended")
