"""ssh keys of users and deploy keys: list, store, delete."""

from __future__ import annotations

from cryptography.fernet import InvalidToken

from ava.domain.problems import ApiError, Problem
from ava.schemas.users import KeyKind, KeyOut, KeyPut
from ava.services.auth import ssh_keys
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find, user_name

MOST = 50
"""Keys of one kind that a user may have."""


def _shown(services: Context, kind: str, name: str, kept: str) -> KeyOut:
    """Return what is told of a key: of a deploy key, which the database has sealed, its public part alone."""
    line = kept if kind == "ssh" else _public(services, kept)
    return KeyOut(name=name, kind=kind, value=line, fingerprint=ssh_keys.fingerprint(line))


def _public(services: Context, sealed: str) -> str:
    try:
        return ssh_keys.private(services.sealer.open(sealed))[1]
    except InvalidToken:
        # The key that it was sealed with is no longer among ours: it has to be stored again.
        return ""


def list_keys(who: Caller, kind: KeyKind) -> list[KeyOut]:
    """Return one's own keys; private parts never leave the database this way."""
    who.may("keys.list")
    there = who.services.store.keys(who.me.name, kind)
    return [_shown(who.services, kind, name, kept) for name, kept in sorted(there.items())]


def put_key(who: Caller, kind: KeyKind, name: str, body: KeyPut, *, new: bool = False) -> KeyOut:
    """Keep a key, or another one in its place; with ``new`` nothing but a new one (409)."""
    who.may("keys.put")
    return _put(who, who.me.name, kind, name, body, new=new)


def _put(who: Caller, owner: str, kind: KeyKind, name: str, body: KeyPut, *, new: bool = False) -> KeyOut:
    store = who.services.store
    there = store.keys(owner, kind)
    if name not in there and len(there) >= MOST:
        raise ApiError(
            409,
            Problem(
                "too-many-keys",
                "There are too many keys.",
                "path.name",
                str(len(there)),
                f"at most {MOST}",
                "Delete one.",
            ),
        )
    if kind == "ssh":
        kept = ssh_keys.public(_given(body.value, body.private_key, "value"))
    else:
        private, _ = ssh_keys.private(_given(body.private_key, body.value, "private_key"))
        kept = who.services.sealer.seal(private)
    detail = {"fingerprint": _shown(who.services, kind, name, kept).fingerprint} | _of(who, owner)
    with who.change("keys.put", f"key {kind}/{name}", **detail):
        store.put_key(owner, kind, name, kept, who.services.clock(), new=new)
    return _shown(who.services, kind, name, kept)


def _given(wanted: str | None, other: str | None, field: str) -> str:
    if wanted is None or other is not None:
        raise ApiError(
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


def delete_key(who: Caller, kind: KeyKind, name: str) -> None:
    """Remove a key; where nobody knows it nothing changes but the answer, 404."""
    who.may("keys.delete")
    _delete(who, who.me.name, kind, name)


def _delete(who: Caller, owner: str, kind: KeyKind, name: str) -> None:
    store = who.services.store
    with who.change("keys.delete", f"key {kind}/{name}", **_of(who, owner)):
        if name not in store.keys(owner, kind):
            find(_nothing, f"{kind} key", name, "path.name")
        store.delete_key(owner, kind, name)


def _of(who: Caller, owner: str) -> dict[str, str]:
    """Return what the audit log says besides where a key is somebody else's."""
    return {} if owner == who.me.name else {"user": owner}


def _owner(who: Caller, ref: str) -> str:
    """Return whose keys an address means; ApiError where they are not the caller's to see."""
    name, what = user_name(who, ref), f"user {ref}"
    who.may("users.keys", owner=name if name == who.me.name else None, what=what, where="path.user")
    return find(who.services.store.user, "user", name, "path.user").name


def list_keys_of(who: Caller, user: str) -> list[KeyOut]:
    """Return a user's ssh keys. Deploy keys are their owner's alone."""
    there = who.services.store.keys(_owner(who, user), "ssh")
    return [_shown(who.services, "ssh", name, kept) for name, kept in sorted(there.items())]


def put_key_of(who: Caller, user: str, name: str, body: KeyPut) -> KeyOut:
    """Keep an ssh key of a user."""
    return _put(who, _owner(who, user), "ssh", name, body)


def delete_key_of(who: Caller, user: str, name: str) -> None:
    """Remove an ssh key of a user."""
    _delete(who, _owner(who, user), "ssh", name)


def _nothing(ref: str) -> None:
    raise ApiError(404, Problem("not-found", "There is none."))
