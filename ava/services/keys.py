"""ssh keys of users and deploy keys: list, store, delete."""

from __future__ import annotations

from cryptography.fernet import InvalidToken

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.users import KeyKind, KeyOut, KeyPut
from ava.services.auth import ssh_keys
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find, user_name

MOST = 50
"""Keys of one kind that a user may have."""


def _shown(context: Context, kind: str, name: str, kept: str) -> KeyOut:
    """Return the public description of a key: of a deploy key, which the database has sealed, its public part alone."""
    line = kept if kind == "ssh" else _public(context, kept)
    return KeyOut(name=name, kind=kind, value=line, fingerprint=ssh_keys.fingerprint(line))


def _public(context: Context, sealed: str) -> str:
    try:
        return ssh_keys.private(context.sealer.open(sealed))[1]
    except InvalidToken:
        # The key that it was sealed with is no longer among ours: it has to be stored again.
        return ""


def list_keys(context: Context, caller: Caller, kind: KeyKind) -> list[KeyOut]:
    """Return one's own keys; private parts never leave the database this way."""
    authorize(context, caller, "keys.list")
    there = context.db.keys.list(caller.me.name, kind)
    return [_shown(context, kind, name, kept) for name, kept in sorted(there.items())]


def put_key(
    context: Context, caller: Caller, kind: KeyKind, name: str, body: KeyPut, *, new: bool = False
) -> KeyOut:
    """Keep a key, or another one in its place; with ``new`` nothing but a new one (409)."""
    authorize(context, caller, "keys.put")
    return _put(context, caller, caller.me.name, kind, name, body, new=new)


def _put(
    context: Context, caller: Caller, owner: str, kind: KeyKind, name: str, body: KeyPut, *, new: bool = False
) -> KeyOut:
    db = context.db
    there = db.keys.list(owner, kind)
    if name not in there and len(there) >= MOST:
        raise ApiError(
            409,
            Problem(
                "too-many-keys",
                Phrase("There are too many keys."),
                "path.name",
                str(len(there)),
                Phrase("at most {most}", most=MOST),
                Phrase("Delete one."),
            ),
        )
    if kind == "ssh":
        kept = ssh_keys.public(_given(body.value, body.private_key, "value"))
    else:
        private, _ = ssh_keys.private(_given(body.private_key, body.value, "private_key"))
        kept = context.sealer.seal(private)
    detail = {"fingerprint": _shown(context, kind, name, kept).fingerprint} | _of(caller, owner)
    with record_change(context, caller, "keys.put", f"key {kind}/{name}", **detail):
        db.keys.put(owner, kind, name, kept, context.clock(), new=new)
    return _shown(context, kind, name, kept)


def _given(wanted: str | None, other: str | None, field: str) -> str:
    if wanted is None or other is not None:
        raise ApiError(
            422,
            Problem(
                "field-missing",
                Phrase("This kind of key is given as {field} alone.", field=field),
                f"body.{field}",
                Phrase("nothing") if wanted is None else "another field beside it",
                Phrase("a key"),
                Phrase("Give {field} and nothing else.", field=field),
            ),
        )
    return wanted


def delete_key(context: Context, caller: Caller, kind: KeyKind, name: str) -> None:
    """Remove a key; an unknown one is answered by 404."""
    authorize(context, caller, "keys.delete")
    _delete(context, caller, caller.me.name, kind, name)


def _delete(context: Context, caller: Caller, owner: str, kind: KeyKind, name: str) -> None:
    db = context.db
    with record_change(context, caller, "keys.delete", f"key {kind}/{name}", **_of(caller, owner)):
        if name not in db.keys.list(owner, kind):
            find(_nothing, f"{kind} key", name, "path.name")
        db.keys.delete(owner, kind, name)


def _of(caller: Caller, owner: str) -> dict[str, str]:
    """Return what the audit log says besides where a key is somebody else's."""
    return {} if owner == caller.me.name else {"user": owner}


def _owner(context: Context, caller: Caller, ref: str) -> str:
    """Return whose keys an address means; ApiError where they are not the caller's to see."""
    name, what = user_name(caller, ref), Phrase("user {name}", name=ref)
    authorize(
        context,
        caller,
        "users.keys",
        owner=name if name == caller.me.name else None,
        what=what,
        where="path.user",
    )
    return find(context.db.users.get, "user", name, "path.user").name


def list_keys_of(context: Context, caller: Caller, user: str) -> list[KeyOut]:
    """Return a user's ssh keys. Deploy keys are their owner's alone."""
    there = context.db.keys.list(_owner(context, caller, user), "ssh")
    return [_shown(context, "ssh", name, kept) for name, kept in sorted(there.items())]


def put_key_of(context: Context, caller: Caller, user: str, name: str, body: KeyPut) -> KeyOut:
    """Keep an ssh key of a user."""
    return _put(context, caller, _owner(context, caller, user), "ssh", name, body)


def delete_key_of(context: Context, caller: Caller, user: str, name: str) -> None:
    """Remove an ssh key of a user."""
    _delete(context, caller, _owner(context, caller, user), "ssh", name)


def _nothing(ref: str) -> None:
    raise ApiError(404, Problem("not-found", Phrase("There is none.")))
