"""A login at the site's OpenID Connect provider, from the first redirect to the account.

What has to be known at the end (state, nonce, verifier) travels in a sealed cookie of ten minutes, so that any replica can
end what another began; that each answer is good for one login alone, the database sees to.
"""

from __future__ import annotations

import hmac
import json
import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import InvalidToken

from ava.domain.model import User, UserState
from ava.domain.names import account_name, email_problems, person_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.auth import email_confirmation, login, registration
from ava.services.auth.caller import digest, new_secret
from ava.services.auth.oidc import Identity, OidcRefused, OidcUnavailable, Provider
from ava.services.auth.rate_limits import network
from ava.services.context import Context

COOKIE = "__Host-ava-oidc"
LONGEST = timedelta(minutes=10)
"""Between the first redirect and the provider's answer."""
CALLBACK = "/api/v1/oidc/callback"
_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1999}")


def local(path: str | None) -> str:
    """Return a path of AVA's own to go to after the login; the first page where it is anything else."""
    if path is None or not _PATH.fullmatch(path) or path.startswith("/api/"):
        return "/"
    parts = urlsplit(path)
    return "/" if parts.scheme or parts.netloc else path


def begin(context: Context, address: str, following: str | None) -> tuple[str, str]:
    """Return where to send the browser, and the cookie's value; ApiError 404, 429, 503."""
    context.rates.spend("login_address", network(address), "logins")
    try:
        attempt = _provider(context).begin()
    except OidcUnavailable as error:
        raise _down(context, address, error) from None
    kept = {
        "state": attempt.state,
        "nonce": attempt.nonce,
        "verifier": attempt.verifier,
        "next": local(following),
        "at": context.clock().isoformat(),
    }
    return attempt.url, context.sealer.seal(json.dumps(kept))


def finish(
    context: Context,
    address: str,
    cookie: str | None,
    code: str | None,
    state: str | None,
    error: str | None,
) -> tuple[User, str]:
    """Return who has logged in, and the page that was wanted.

    Raises:
        ApiError: 400 for an answer that belongs to no login of this browser, 401 for one that proves nothing, 403 for an
            account that may not log in (yet), 409 where the name is somebody else's, 503.
    """
    context.rates.spend("login_address", network(address), "logins")
    kept = _kept(context, address, cookie, state)
    if error is not None or code is None:
        login.refused(context, "unknown", address, "provider-refused")
        raise _refused(
            401,
            Phrase("The login service has not let you in."),
            "query.error",
            shown(error or "no code", 60),
            Phrase("a code"),
        )
    try:
        identity = _provider(context).finish(code, kept["nonce"], kept["verifier"])
    except OidcUnavailable as down:
        raise _down(context, address, down) from None
    except OidcRefused as refused:
        login.refused(context, "unknown", address, str(refused)[:200])
        raise _refused(
            401,
            Phrase("The login service's answer proves nothing."),
            "query.code",
            str(refused)[:200],
            Phrase("a good one"),
        ) from None
    found = _account(context, identity, address)
    login.let_in(context, found, address)
    return found, kept["next"]


def _kept(context: Context, address: str, cookie: str | None, state: str | None) -> dict[str, str]:
    """Return what was known at the beginning, and use it up."""
    now = context.clock()
    why, kept = "no login of this browser", {}
    try:
        kept = json.loads(context.sealer.open(cookie or ""))
        late = now - datetime.fromisoformat(kept["at"])
        right = hmac.compare_digest(kept["state"].encode(), (state or "").encode())
        if right and timedelta(0) <= late <= LONGEST:
            if context.db.secrets.use_nonce(digest(kept["state"]), now + 2 * LONGEST):
                return dict(kept)
            why = "an answer that was used before"
        elif right:
            why = "a login that took too long"
    except (InvalidToken, ValueError, KeyError, TypeError, AttributeError):
        pass
    login.refused(context, "unknown", address, why)
    raise _refused(
        400,
        Phrase("The answer belongs to no login that has begun here."),
        "query.state",
        why,
        Phrase("the answer to one"),
    )


def _account(context: Context, identity: Identity, address: str) -> User:
    """Return whose identity it is; at the first login an account is made, which an administrator approves."""
    db, settings = context.db, _provider(context).settings
    found = db.identities.find(identity.issuer, identity.subject)
    claims, rule = identity.claims, settings.enough
    verified = claims.get("email_verified") is True
    if found is not None:
        return _confirmed(context, found, claims) if verified else found
    name, email = account_name(_text(claims, settings.name_claim)), _text(claims, "email")
    wrong = [*person_problems(name, f"claim {settings.name_claim}"), *email_problems(email, "claim email")]
    if wrong:
        login.refused(context, shown(name, 40), address, Phrase("claims"))
        raise ApiError(403, *wrong)
    enough = rule is not None and not set(_values(claims, rule.claim)).isdisjoint(rule.values)
    if not enough:
        registration.check_open(context, address)
    state = UserState.ACTIVE if enough else UserState.PENDING
    # This password is not stored anywhere: such an account logs in at the provider alone, until an administrator sets one.
    hashed = context.passwords.hash(new_secret())
    known = (identity.issuer, identity.subject)
    try:
        made = db.users.create(
            name,
            email,
            hashed,
            context.clock(),
            state=state,
            identity=known,
            over_pending=True,
            email_confirmed=verified,
        )
    except ApiError as refused:
        # Two answers for one person at once: the other one made it. An account of that name is never taken over.
        if refused.status == 409 and (other := db.identities.find(*known)) is not None:
            return other
        login.refused(context, name, address, "name-taken")
        raise
    context.audit(
        name,
        "registrations.make",
        f"user {name}",
        "done",
        address,
        {"by": identity.issuer, "state": state.value},
    )
    email_confirmation.offer(context, made)
    return made


def _confirmed(context: Context, found: User, claims: dict[str, Any]) -> User:
    """Return the account, its address confirmed where the provider has verified this very address."""
    if found.email_confirmed is not None or _text(claims, "email").lower() != found.email:
        return found
    return context.db.users.confirm_email(found.name, found.email, context.clock()) or found


def _text(claims: dict[str, Any], name: str) -> str:
    found = claims.get(name)
    return found if isinstance(found, str) else ""


def _values(claims: dict[str, Any], name: str) -> list[str]:
    found = claims.get(name)
    return [v for v in (found if isinstance(found, list) else [found]) if isinstance(v, str)]


def _provider(context: Context) -> Provider:
    if context.provider is None:
        problem = Problem(
            "login-method-disabled",
            Phrase("This login method is disabled."),
            "request",
            Phrase("OpenID Connect"),
            Phrase("name and password"),
            Phrase("Use another way."),
        )
        raise ApiError(404, problem)
    return context.provider


def _refused(status: int, what: str, where: str, found: str, wanted: str) -> ApiError:
    return ApiError(
        status, Problem("login-refused", what, where, found, wanted, Phrase("Begin again at the login page."))
    )


def _down(context: Context, address: str, why: OidcUnavailable) -> ApiError:
    context.audit("nobody", "sessions.open", "login service", "unreachable", address, {"why": str(why)[:300]})
    return ApiError(
        503,
        Problem(
            "login-provider-unavailable",
            Phrase("The site's login service does not answer."),
            "login service",
            Phrase("no good answer"),
            Phrase("an answer"),
            Phrase("Try again in a minute; the audit log has the cause."),
        ),
    )
