"""Tokens for programs."""

from __future__ import annotations

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.users import SecretOut, TokenMake, TokenOut
from ava.services import tokens

routes = router("tokens")


@routes.get("/tokens")
def list_tokens(context: CurrentContext, caller: Someone) -> list[SecretOut]:
    """Return one's own tokens, without their secrets."""
    return tokens.list_tokens(context, caller)


@routes.post("/tokens", status_code=201)
def make_token(body: TokenMake, context: CurrentContext, caller: Someone) -> TokenOut:
    """Make a token; it is shown this once. It may do what its user may, or what its scopes say, until it ends.

    `scopes` are `read` (look at everything of one's own), `runs` (that, and start, change and end work and data sets) and
    `registry` (push and pull images). A token with scopes has no administrator's rights, makes no tokens and changes nothing
    of the account.
    """
    return tokens.make_token(context, caller, body)


@routes.delete("/tokens/{id}", status_code=204)
def end_token(id: Ref, context: CurrentContext, caller: Someone) -> None:
    """End one of one's own tokens."""
    tokens.end_token(context, caller, id)
