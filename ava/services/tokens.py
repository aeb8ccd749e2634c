"""Tokens for programs: list, create, revoke."""

from __future__ import annotations

from datetime import timedelta

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.users import SecretOut, TokenMake, TokenOut
from ava.services import serializers
from ava.services.auth import credentials
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import PREFIX, Caller
from ava.services.context import Context
from ava.services.lookup import find


def list_tokens(context: Context, caller: Caller) -> list[SecretOut]:
    """Return one's own tokens, without their secrets."""
    authorize(context, caller, "tokens.list")
    return [serializers.secret(s) for s in context.db.secrets.list(caller.me.name, "token")]


def make_token(context: Context, caller: Caller, body: TokenMake) -> TokenOut:
    """Make a token; it is shown this once. It may do what its user may, or what its scopes say, until it ends."""
    authorize(context, caller, "tokens.make")
    most = context.config.token_days
    if body.days > most:
        raise ApiError(
            422,
            Problem(
                "value-invalid",
                Phrase("A token may not last so long here."),
                "body.days",
                str(body.days),
                Phrase("at most {most}", most=most),
                Phrase("Ask for fewer days."),
            ),
        )
    now, scopes = context.clock(), None if body.scopes is None else sorted(set(body.scopes))
    until = now + timedelta(days=body.days)
    with record_change(
        context,
        caller,
        "tokens.make",
        f"user {caller.me.name}",
        label=body.label,
        days=body.days,
        scopes=body.scopes,
    ):
        id, secret = credentials.make(context, caller.me.name, "token", until, body.label, scopes)
    return TokenOut(
        id=id, label=body.label, created=now, until=until, scopes=scopes, token=f"{PREFIX}{id}.{secret}"
    )


def end_token(context: Context, caller: Caller, id: str) -> None:
    """End one of one's own tokens."""
    db, me = context.db, caller.me.name
    authorize(context, caller, "tokens.end", owner=me, what=f"token {id}", where="path.id")
    with record_change(context, caller, "tokens.end", f"token {id}"):
        find(lambda ref: db.secrets.delete(me, ref), "token", id, "path.id")
