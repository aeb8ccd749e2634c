"""ssh public keys by which users get into their workbenches, and deploy keys by which their code is cloned."""

from __future__ import annotations

from typing import Annotated, Literal

from cryptography.fernet import InvalidToken
from fastapi import Path

from ava.api import sshkeys
from ava.api.identity import Someone
from ava.api.routes.common import find, router
from ava.api.schemas.common import KeyName
from ava.api.schemas.people import KeyOut, KeyPut
from ava.api.services import Services
from ava.domain.problems import Problem, Refused

routes = router("keys")
Kind = Literal["ssh", "deploy"]
Name = Annotated[KeyName, Path()]
MOST = 50
"""Keys of one kind that a user may have."""


def _shown(services: Services, kind: str, name: str, kept: str) -> KeyOut:
    """Return what is told of a key: of a deploy key, which the ledger has sealed, its public part alone."""
    line = kept if kind == "ssh" else _public(services, kept)
    return KeyOut(name=name, kind=kind, value=line, fingerprint=sshkeys.fingerprint(line))


def _public(services: Services, sealed: str) -> str:
    try:
        return sshkeys.private(services.sealer.open(sealed))[1]
    except InvalidToken:
        # The key that it was sealed with is no longer among ours: it has to be stored again.
        return ""


@routes.get("/keys/{kind}")
def list_keys(kind: Kind, who: Someone) -> list[KeyOut]:
    """Return one's own keys; private parts never leave the ledger this way."""
    who.may("keys.list")
    there = who.services.store.keys(who.me.name, kind)
    return [_shown(who.services, kind, name, kept) for name, kept in sorted(there.items())]


@routes.put("/keys/{kind}/{name}")
def put_key(kind: Kind, name: Name, body: KeyPut, who: Someone) -> KeyOut:
    """Keep a key, or another one in its place."""
    who.may("keys.put")
    store, me = who.services.store, who.me.name
    there = store.keys(me, kind)
    if name not in there and len(there) >= MOST:
        raise Refused(
            409,
            Problem(
                "too-many-keys",
                "You have too many keys.",
                "path.name",
                str(len(there)),
                f"at most {MOST}",
                "Delete one.",
            ),
        )
    if kind == "ssh":
        kept = sshkeys.public(_given(body.value, body.private_key, "value"))
    else:
        private, _ = sshkeys.private(_given(body.private_key, body.value, "private_key"))
        kept = who.services.sealer.seal(private)
    with who.change(
        "keys.put", f"key {kind}/{name}", fingerprint=_shown(who.services, kind, name, kept).fingerprint
    ):
        store.put_key(me, kind, name, kept, who.services.clock())
    return _shown(who.services, kind, name, kept)


def _given(wanted: str | None, other: str | None, field: str) -> str:
    if wanted is None or other is not None:
        raise Refused(
            422,
            Problem(
                "field-missing",
                f"This kind of key is given as {field} alone.",
                f"body.{field}",
                "nothing" if wanted is None else "another field beside it",
                "a key",
                f"Give {field} and nothing else.",
            ),
        )
    return wanted


@routes.delete("/keys/{kind}/{name}", status_code=204)
def delete_key(kind: Kind, name: Name, who: Someone) -> None:
    """Remove a key; where nobody knows it nothing changes but the answer, 404."""
    who.may("keys.delete")
    store, me = who.services.store, who.me.name
    with who.change("keys.delete", f"key {kind}/{name}"):
        if name not in store.keys(me, kind):
            find(_nothing, f"{kind} key", name, "path.name")
        store.delete_key(me, kind, name)


def _nothing(ref: str) -> None:
    raise Refused(404, Problem("not-found", "There is none."))
