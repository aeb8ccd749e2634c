"""Scopes of tokens: what a token may do of what its user may.

A token without scopes may do everything that its user may, as all tokens did before there were scopes. A token with scopes
never has an administrator's rights, and never changes the account: no password, address, key, group or further token.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.users import Scope

SCOPES: tuple[Scope, ...] = get_args(Scope)
Scopes = frozenset[str] | None
"""None: everything."""
READ = frozenset(
    {"users.show", "groups.list", "groups.show", "groups.members", "queues.list", "queues.waiting"}
    | {"pools.list", "cluster.show", "images.list", "pushed-images.show", "definitions.list"}
    | {"definitions.show", "runs.list", "runs.show", "runs.why", "runs.pods", "runs.logs", "services.show"}
    | {"usage.own", "usage.group", "workbenches.list", "workbenches.show", "data-sets.list"}
    | {"data-sets.show"}
)
RUNS = frozenset(
    {"definitions.make", "definitions.delete", "definitions.start", "runs.make", "runs.stop", "runs.consent"}
    | {"services.scale", "workbenches.grow", "data-sets.make", "data-sets.change", "pushed-images.delete"}
)
REGISTRY = frozenset({"registry.token"})
_ALLOWED: dict[str, frozenset[str]] = {"read": READ, "runs": READ | RUNS, "registry": REGISTRY}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def allows(scopes: Scopes, action: str) -> bool:
    """Whether a token with these scopes may do an action of permissions.yml; an unlisted action needs a token without scopes."""
    return scopes is None or any(action in _ALLOWED.get(scope, ()) for scope in scopes)


def permit(scopes: Scopes, action: str) -> None:
    """Return if a token with these scopes may do an action of permissions.yml; ApiError 403 else."""
    if not allows(scopes, action):
        raise refusal(scopes or (), [scope for scope in SCOPES if action in _ALLOWED[scope]])


def permit_request(scopes: Scopes, method: str, path: str) -> None:
    """Return if a token with these scopes may send such a request at all; ApiError 403 else.

    Holds for every route, also for one that asks for no action. Each token may ask whose it is, and end itself.
    """
    if scopes is None or path.endswith("/sessions/current"):
        return
    wanted = ["read", "runs"] if method in _SAFE else ["runs"]
    if path.endswith("/registry/token"):
        wanted = ["registry"]
    if not scopes.intersection(wanted):
        raise refusal(scopes, wanted)


def refusal(scopes: Collection[str], wanted: Collection[str]) -> ApiError:
    """Return the refusal of a token whose scopes do not include a request."""
    return ApiError(
        403,
        Problem(
            "token-scope",
            Phrase("The scopes of this token do not include this request."),
            "token",
            Phrase("scopes {scopes}", scopes=", ".join(sorted(scopes))),
            f"scope {' or '.join(wanted)}" if wanted else "a token without scopes, or a session",
            Phrase("Use a token that has the scope; `ava token create --scope` makes one."),
        ),
    )
