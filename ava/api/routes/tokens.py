"""Tokens for programs."""

from __future__ import annotations

from datetime import timedelta

from ava.api.routes.common import Ref, find, router
from ava.domain.problems import ApiError, Problem
from ava.schemas.users import SecretOut, TokenMake, TokenOut
from ava.services import serializers
from ava.services.auth import credentials
from ava.services.auth.caller import PREFIX, Someone

routes = router("tokens")


@routes.get("/tokens")
def list_tokens(who: Someone) -> list[SecretOut]:
    """Return one's own tokens, without their secrets."""
    who.may("tokens.list")
    return [serializers.secret(s) for s in who.services.store.secrets(who.me.name, "token")]


@routes.post("/tokens", status_code=201)
def make_token(body: TokenMake, who: Someone) -> TokenOut:
    """Make a token; it is shown this once. It may do what its user may, or what its scopes say, until it ends.

    `scopes` are `read` (look at everything of one's own), `runs` (that, and start, change and end work and data sets) and
    `registry` (push and pull images). A token with scopes has no administrator's rights, makes no tokens and changes nothing
    of the account.
    """
    who.may("tokens.make")
    services, most = who.services, who.services.config.token_days
    if body.days > most:
        raise ApiError(
            422,
            Problem(
                "value-invalid",
                "A token may not last so long here.",
                "body.days",
                str(body.days),
                f"at most {most}",
                "Ask for fewer days.",
            ),
        )
    now, scopes = services.clock(), None if body.scopes is None else sorted(set(body.scopes))
    until = now + timedelta(days=body.days)
    with who.change(
        "tokens.make", f"user {who.me.name}", label=body.label, days=body.days, scopes=body.scopes
    ):
        id, secret = credentials.make(services, who.me.name, "token", until, body.label, scopes)
    return TokenOut(
        id=id, label=body.label, created=now, until=until, scopes=scopes, token=f"{PREFIX}{id}.{secret}"
    )


@routes.delete("/tokens/{id}", status_code=204)
def end_token(id: Ref, who: Someone) -> None:
    """End one of one's own tokens."""
    store, me = who.services.store, who.me.name
    who.may("tokens.end", owner=me, what=f"token {id}", where="path.id")
    with who.change("tokens.end", f"token {id}"):
        find(lambda ref: store.end_secret(me, ref), "token", id, "path.id")
