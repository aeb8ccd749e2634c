"""Login at the site's OpenID Connect provider: the code flow with PKCE, by the libraries Authlib and joserfc.

What a provider says is believed once its ID token's signature, issuer, audience, times and nonce are right (OpenID Connect
Core, 3.1.3.7). The algorithm is never the token's choice alone: it is one of those below, all of them by a public key.
"""

from __future__ import annotations

import secrets
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ava.services.config import Oidc
from ava.services.unavailable import cause

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
TIMEOUT = httpx.Timeout(8.0, connect=4.0)
KNOWN = 3600.0
"""Seconds for which the provider's own description and keys are believed."""
AGAIN = 30.0
"""A key that is unknown is asked for at most once in so many seconds."""
REFUSALS = (
    "invalid_grant",
    "invalid_client",
    "invalid_request",
    "unauthorized_client",
    "unsupported_grant_type",
)
"""Errors of RFC 6749, 5.2."""
LEEWAY = 60
"""Seconds by which clocks may differ."""


class OidcUnavailable(Exception):
    """The provider cannot be asked, or says what no provider may; the text is for the log and administrators."""


class OidcRefused(Exception):
    """The provider's answer proves nothing; the text says which part, never a token."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that has begun: where to send the browser, and what must be known at its end."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Who came, as the provider signed it."""

    issuer: str
    subject: str
    claims: dict[str, Any]


class Provider:
    """The site's provider; asked at the first login, so that AVA starts without it.

    Args:
        settings: where it is and who AVA is there.
        redirect: AVA's own address that it sends people back to.
        transport: tests have their own.
    """

    def __init__(self, settings: Oidc, redirect: str, transport: httpx.BaseTransport | None = None) -> None:
        self.settings, self._redirect, self._transport = settings, redirect, transport
        self._lock = threading.Lock()
        self._described: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def begin(self) -> Attempt:
        """Return where to send the browser; OidcDown."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self._redirect,
            "scope": " ".join(self.settings.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        where = self._endpoint("authorization_endpoint")
        return Attempt(f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}", state, nonce, verifier)

    def finish(self, code: str, nonce: str, verifier: str) -> Identity:
        """Return who came with a code.

        Raises:
            OidcDown: the provider cannot be asked.
            OidcRefused: it gives nothing for that code, or what it gives is not good for this login.
        """
        token = self._exchange(code, verifier)
        kept = token.get("id_token")
        if not isinstance(kept, str):
            raise OidcRefused("the provider gives no ID token")
        claims = self._verified(kept, nonce, token.get("access_token"))
        return Identity(self.settings.issuer, str(claims["sub"]), claims)

    def _exchange(self, code: str, verifier: str) -> dict[str, Any]:
        """Return what the provider gives for a code (RFC 6749, 4.1.3; RFC 7636, 4.5)."""
        settings, where = self.settings, self._endpoint("token_endpoint")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
        }
        auth: dict[str, Any] = {}
        try:
            word = settings.secret_file.read_text(encoding="utf-8").strip()
            if settings.client_auth == "basic":
                auth = {"auth": httpx.BasicAuth(quote(settings.client_id, safe=""), quote(word, safe=""))}
            else:
                form |= {"client_id": settings.client_id, "client_secret": word}
            with self._http() as http:
                answer = http.post(where, data=form, headers={"accept": "application/json"}, **auth)
                reply = answer.json()
        except (httpx.HTTPError, ValueError, OSError) as error:
            raise OidcUnavailable(f"{where}: {cause(error)}") from None
        if not isinstance(reply, dict) or answer.status_code >= 500:
            raise OidcUnavailable(f"{where}: status {answer.status_code}")
        if answer.status_code != 200:
            why = reply.get("error")
            raise OidcRefused(
                f"the provider refuses the code: {why if why in REFUSALS else answer.status_code}"
            )
        return reply

    def _verified(self, text: str, nonce: str, access_token: object) -> dict[str, Any]:
        try:
            claims = self._claims(text, nonce, access_token)
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            # The class and the claim's name; what stands in it is the provider's or an attacker's.
            raise OidcRefused(
                f"the ID token is not good: {type(error).__name__} {_claim(error)}".strip()
            ) from None
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise OidcRefused("the ID token's subject is none")
        return dict(claims)

    def _claims(self, text: str, nonce: str, access_token: object) -> CodeIDToken:
        """Return the claims of a token whose signature is right; keys that are not known are asked for again."""
        try:
            token = jwt.decode(text, self._key_set(), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            token = jwt.decode(text, self._key_set(AGAIN), algorithms=ALGORITHMS)
        own = self.settings
        options = {
            "iss": {"essential": True, "value": own.issuer},
            "aud": {"essential": True, "value": own.client_id},
        }
        params = {"nonce": nonce, "client_id": own.client_id, "access_token": access_token}
        return CodeIDToken(token.claims, token.header, options=options, params=params)

    def _key_set(self, oldest: float = KNOWN) -> KeySet:
        """Return the provider's keys, at most so many seconds old."""
        with self._lock:
            now = time.monotonic()
            if self._keys is None or now - self._keys[0] >= oldest:
                reply = self._get(self._endpoint("jwks_uri", locked=True))
                try:
                    self._keys = (now, KeySet.import_key_set(reply))  # type: ignore[arg-type]
                except (JoseError, ValueError, TypeError, KeyError) as error:
                    raise OidcUnavailable(
                        f"the provider's keys cannot be read: {type(error).__name__}"
                    ) from None
            return self._keys[1]

    def _endpoint(self, name: str, *, locked: bool = False) -> str:
        """Return an address that the provider tells, which must be as safe as its own."""
        if not locked:
            with self._lock:
                return self._endpoint(name, locked=True)
        now = time.monotonic()
        if self._described is None or now - self._described[0] >= KNOWN:
            reply = self._get(self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if reply.get("issuer") != self.settings.issuer:
                raise OidcUnavailable("the provider calls itself otherwise than components.ava.oidc.issuer")
            self._described = (now, reply)
        found = self._described[1].get(name)
        own = urlsplit(self.settings.issuer).scheme
        if not isinstance(found, str) or urlsplit(found).scheme not in ("https", own):
            raise OidcUnavailable(f"the provider tells no safe {name}")
        return found

    def _get(self, url: str) -> dict[str, Any]:
        try:
            with self._http() as http:
                answer = http.get(url, headers={"accept": "application/json"})
                answer.raise_for_status()
                reply = answer.json()
        except (httpx.HTTPError, ValueError, OSError) as error:
            raise OidcUnavailable(f"{url}: {cause(error)}") from None
        if not isinstance(reply, dict):
            raise OidcUnavailable(f"{url}: no JSON object")
        return reply

    def _http(self) -> httpx.Client:
        trust = ssl.create_default_context(cafile=str(self.settings.ca) if self.settings.ca else None)
        return httpx.Client(verify=trust, timeout=TIMEOUT, trust_env=False, transport=self._transport)


def _claim(error: Exception) -> str:
    """Return the name of the claim that is wrong, where it is a plain word."""
    name = str(getattr(error, "claim", None) or getattr(error, "claim_name", None) or "")
    return name if name.isidentifier() and len(name) < 40 else ""
