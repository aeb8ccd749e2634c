"""ssh public keys by which users get into their workbenches, and deploy keys by which their code is cloned."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header, Path

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import KeyName
from ava.schemas.users import KeyKind, KeyOut, KeyPut
from ava.services import keys

routes = router("keys")
Name = Annotated[KeyName, Path()]
Star = Annotated[Literal["*"] | None, Header()]


@routes.get("/keys/{kind}")
def list_keys(kind: KeyKind, context: CurrentContext, caller: Someone) -> list[KeyOut]:
    """Return one's own keys; private parts never leave the database this way."""
    return keys.list_keys(context, caller, kind)


@routes.put("/keys/{kind}/{name}")
def put_key(
    kind: KeyKind,
    name: Name,
    body: KeyPut,
    context: CurrentContext,
    caller: Someone,
    if_none_match: Star = None,
) -> KeyOut:
    """Keep a key, or another one in its place. `If-None-Match: *` only creates (409)."""
    return keys.put_key(context, caller, kind, name, body, new=if_none_match is not None)


@routes.delete("/keys/{kind}/{name}", status_code=204)
def delete_key(kind: KeyKind, name: Name, context: CurrentContext, caller: Someone) -> None:
    """Remove a key; an unknown one is answered by 404."""
    keys.delete_key(context, caller, kind, name)


@routes.get("/users/{user}/keys/ssh")
def list_keys_of(user: Ref, context: CurrentContext, caller: Someone) -> list[KeyOut]:
    """Return a user's ssh keys. Deploy keys are their owner's alone."""
    return keys.list_keys_of(context, caller, user)


@routes.put("/users/{user}/keys/ssh/{name}")
def put_key_of(user: Ref, name: Name, body: KeyPut, context: CurrentContext, caller: Someone) -> KeyOut:
    """Keep an ssh key of a user."""
    return keys.put_key_of(context, caller, user, name, body)


@routes.delete("/users/{user}/keys/ssh/{name}", status_code=204)
def delete_key_of(user: Ref, name: Name, context: CurrentContext, caller: Someone) -> None:
    """Remove an ssh key of a user."""
    keys.delete_key_of(context, caller, user, name)
