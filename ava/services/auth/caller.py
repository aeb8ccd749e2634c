"""Authentication of a request: a session's cookie (with its CSRF token where something changes) or a program's token.

The database keeps the SHA-256 of either alone, and finds it by an index over that: what a wrong guess takes tells nothing of
the secret, of which 256 bits are random.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Request

from ava.domain.model import Group, User
from ava.domain.problems import ApiError, Problem
from ava.services.auth import permissions, recent_login
from ava.services.auth import scopes as token_scopes
from ava.services.context import Context

COOKIE = "__Host-ava"
"""The prefix makes browsers insist on Secure, on no Domain and on Path=/ (RFC 6265bis)."""
CSRF = "x-csrf-token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SECRET = re.compile(r"^(?P<id>[a-z0-9]{1,40})\.(?P<secret>[A-Za-z0-9_-]{43})$")
PREFIX = "ava_"


def new_secret() -> str:
    """Return 256 random bits, 43 characters."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what the database keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf(secret: str) -> str:
    """Return the token that goes with a session: only who has the session's answer knows it, no other site does."""
    return hmac.digest(secret.encode(), b"ava: csrf", "sha256").hex()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, from where, by what.

    Attributes:
        user: None: nobody is logged in.
        kind: ``session`` or ``token``; "" for nobody.
        secret_id: the session's or token's id.
        scopes: those of the token; None: everything that the user may.
    """

    services: Context
    address: str
    user: User | None = None
    kind: str = ""
    secret_id: str = ""
    csrf: str = ""
    digest: str = ""
    scopes: token_scopes.Scopes = None

    @property
    def me(self) -> User:
        """The user; ApiError 401 for nobody."""
        if self.user is None:
            raise permissions.unauthenticated()
        return self.user

    def relations(self, owner: str | None = None, group: Group | None = None) -> set[str]:
        """Return what the caller is to an object of an owner (name) or to a group."""
        found = {"anyone"}
        if self.user is not None:
            found |= {"user"} | ({"admin"} if self.user.admin else set())
            if owner is not None and owner == self.user.name:
                found.add("owner")
            if group is not None and self.is_member(group):
                found.add("member")
        return found

    def is_member(self, group: Group) -> bool:
        """Whether the caller is in a group."""
        return self.user is not None and any(
            m.id == self.user.id for m in self.services.store.members(group.name)
        )

    def may(
        self,
        action: str,
        *,
        owner: str | None = None,
        group: Group | None = None,
        what: str = "",
        where: str = "",
    ) -> None:
        """Return if the caller (permissions.yml), and its token (scopes.py), may do it; ApiError 401, 403, 404 else."""
        relations = self.relations(owner, group)
        if self.user is None and not permissions.allowed(action, relations):
            raise permissions.unauthenticated()
        try:
            token_scopes.permit(self.scopes, action)
            permissions.permit(action, relations, what=what, where=where or what or "request")
        except ApiError:
            # Once a minute: refused requests have no rate, and the audit log has no end.
            if self.services.rates.allows(
                "refusal", f"{self.user.name if self.user else self.address} {action}"
            ):
                self._note(action, what, "refused", {})
            raise

    @contextmanager
    def change(self, action: str, object: str, **detail: Any) -> Iterator[None]:
        """Count a change against the caller's limit, and write it down when it is done or was refused."""
        if self.user is not None:
            self.services.rates.spend("change", self.user.id, "changes")
        try:
            yield
        except ApiError as refused:
            self._note(
                action, object, "refused", {**detail, "codes": [p.code for p in refused.problems][:10]}
            )
            raise
        self._note(action, object, "done", detail)

    def _note(self, action: str, object: str, outcome: str, detail: Mapping[str, Any]) -> None:
        who = self.user.name if self.user else "nobody"
        self.services.audit(who, action, object, outcome, self.address, detail)


def services_of(request: Request) -> Context:
    """Return the application's services."""
    services: Context = request.app.state.services
    return services


def caller(request: Request) -> Caller:
    """Return who asks.

    Raises:
        ApiError: 401 for a token that is not valid (any more); 403 for a change without its CSRF token.
    """
    services = services_of(request)
    address = str(getattr(request.state, "address", "unknown"))
    head = request.headers.get("authorization")
    if head is not None:
        scheme, _, word = head.partition(" ")
        found = _SECRET.match(word.strip().removeprefix(PREFIX)) if scheme.lower() == "bearer" else None
        known = _known(services, "token", found, address)
        token_scopes.permit_request(known.scopes, request.method, request.url.path)
        return known
    known = by_session(services, request.cookies.get(COOKIE), address)
    if known.user is None:
        return known
    given = request.headers.get(CSRF, "")
    if request.method not in SAFE and not hmac.compare_digest(given.encode(), known.csrf.encode()):
        raise ApiError(
            403,
            Problem(
                "csrf",
                "The change does not come from AVA's own page.",
                f"header {CSRF}",
                "another or no token" if given else "nothing",
                "the `csrf` of the session",
                "Send the token that the login (or GET /api/v1/sessions/current) has answered.",
            ),
        )
    return known


def by_basic(request: Request) -> Caller | None:
    """Return who asks by HTTP basic authentication, a name and one of that person's tokens; None where it is not used.

    Raises:
        ApiError: 401 for a token that is not valid (any more) or another person's; a password is none.
    """
    scheme, _, word = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, token = base64.b64decode(word.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:
        raise permissions.unauthenticated() from None
    found = _SECRET.match(token.removeprefix(PREFIX))
    known = _known(services_of(request), "token", found, str(getattr(request.state, "address", "unknown")))
    if known.me.name != name:
        raise permissions.unauthenticated()
    return known


def by_session(services: Context, cookie: str | None, address: str) -> Caller:
    """Return whose session a cookie is; nobody where it is none (any more): login and registration continue."""
    if cookie is None:
        return Caller(services, address)
    try:
        return _known(services, "session", _SECRET.match(cookie), address)
    except ApiError as refused:
        if refused.status != 401:
            raise
        return Caller(services, address)


def _known(services: Context, kind: str, found: re.Match[str] | None, address: str) -> Caller:
    bearer = services.store.bearer(kind, digest(found["secret"]), services.clock()) if found else None
    if bearer is None or found is None:
        raise permissions.unauthenticated()
    user, scopes = bearer
    if not recent_login.is_recent(services, user):
        raise recent_login.too_old(services)
    if scopes is not None:
        user = replace(user, admin=False)
    secret = found["secret"]
    return Caller(services, address, user, kind, found["id"], csrf(secret), digest(secret), scopes)


def someone(who: Annotated[Caller, Depends(caller)]) -> Caller:
    """Return who asks; ApiError 401 for nobody."""
    if who.user is None:
        raise permissions.unauthenticated()
    return who


Anybody = Annotated[Caller, Depends(caller)]
Someone = Annotated[Caller, Depends(someone)]
