"""A provider in this process that says whatever a test wants, also what none may."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

ISSUER = "https://id.example.org"
CLIENT, SECRET = "ava", "the client's secret: äö%"
NOW = 1_900_000_000


class FakeProvider:
    """An OpenID Connect provider as a transport of httpx.

    Attributes:
        claims: changes to the next ID tokens' claims; None takes a claim away.
        token: what is answered instead of an ID token.
        key: what ID tokens are signed with; its public half is published by ``publish``.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        self.key = ECKey.generate_key("P-256", {"kid": "1"})
        self.published = [self.key]
        self.claims: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.token: str | None = None
        self.down = False
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def browser(self, url: str) -> dict[str, str]:
        """Let the person in at the address that the browser was sent to; return the query that it comes back with."""
        asked = {k: v[0] for k, v in parse_qs(urlsplit(url).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        return {"code": code, "state": asked["state"], "iss": ISSUER}

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.down:
            raise httpx.ConnectTimeout("away")
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json=self._described() | self.document)
        if request.url.path == "/keys":
            return httpx.Response(200, json=KeySet(list(self.published)).as_dict())
        return self._exchange(request)

    def _described(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
        }

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        user = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        form = {k: v[0] for k, v in parse_qs(request.content.decode()).items()}
        begun = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (
            begun is None
            or user != "ava:the%20client%27s%20secret%3A%20%C3%A4%C3%B6%25"
            or begun["redirect_uri"] != form["redirect_uri"]
            or begun["code_challenge"] != challenge.decode().rstrip("=")
        ):
            return httpx.Response(400, json={"error": "invalid_grant"})
        reply = self.token if self.token is not None else self.signed(begun["nonce"])
        return httpx.Response(200, json={"access_token": "x", "token_type": "Bearer", "id_token": reply})

    def body(self, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token, with the changes."""
        plain = {
            "iss": ISSUER,
            "sub": "4711",
            "aud": CLIENT,
            "iat": self.now,
            "exp": self.now + 300,
            "nonce": nonce,
            "preferred_username": "Mia",
            "email": "mia@example.org",
        }
        return {k: v for k, v in (plain | self.claims).items() if v is not None}

    def signed(self, nonce: str) -> str:
        """Return an ID token."""
        return jwt.encode({"alg": "ES256", "kid": self.key.kid}, self.body(nonce), self.key)


def unsigned(claims: dict[str, Any]) -> str:
    """Return a token of the algorithm ``none``, as attackers make them."""
    return f"{_parts({'alg': 'none'}, claims)}."


def by_hmac(claims: dict[str, Any], key: bytes) -> str:
    """Return a token signed with what everybody knows, which libraries refuse to make."""
    text = _parts({"alg": "HS256", "kid": "1"}, claims)
    return f"{text}.{_base64(hmac.digest(key, text.encode(), 'sha256'))}"


def _parts(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
