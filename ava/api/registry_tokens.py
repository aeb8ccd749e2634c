"""Tokens for the site's registry (docker's token protocol): short-lived, signed, with what was asked for and may be had.

https://distribution.github.io/distribution/spec/auth/jwt/ says what is in one. The key is AVA's alone; the registry trusts the
authority of its certificate, which signs nothing else.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from ava.api.config import UserRegistry
from ava.api.identity import Caller
from ava.api.repositories import rights, scopes
from ava.settings import ConfigError

SECONDS = 300
"""A token's life. Who leaves a group pulls and pushes so long at most; a long upload asks for another one by itself."""
BACK = 30
"""Seconds that a registry's clock may be behind."""
MOST = 20
"""Scopes of one request."""
_ACTIONS = ("pull", "push")


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs tokens for one registry."""

    settings: UserRegistry
    key: ECKey
    chain: tuple[str, ...]

    def token(self, who: Caller, asked: Collection[str], now: datetime) -> str:
        """Return a token for a user.

        Args:
            who: the user; Refused 401 for nobody.
            asked: scopes as the client sends them; none for a log-in that only looks whether it is let in.
            now: the time.
        """
        access = []
        for kind, name, actions in scopes(asked)[:MOST]:
            # Neither the catalogue (registry:catalog:*) nor removal is anybody's here.
            may = rights(who, name) if kind == "repository" else frozenset()
            granted = [a for a in _ACTIONS if a in actions and a in may]
            if granted:
                access.append({"type": "repository", "name": name, "actions": granted})
        at = int(now.timestamp())
        claims = {
            "iss": self.settings.issuer,
            "sub": who.me.name,
            "aud": self.settings.host,
            "iat": at,
            "nbf": at - BACK,
            "exp": at + SECONDS,
            "jti": secrets.token_urlsafe(16),
            "access": access,
        }
        header = {"typ": "JWT", "alg": "ES256", "x5c": list(self.chain)}
        return jwt.encode(header, claims, self.key, algorithms=["ES256"])


def signer(settings: UserRegistry) -> Signer:
    """Return the signer of the settings; ConfigError where a file is of no use."""
    where = f"user_registry: {settings.key}, {settings.certificate}"
    try:
        key = ECKey.import_key(settings.key.read_text(encoding="ascii"))
        certificates = x509.load_pem_x509_certificates(settings.certificate.read_bytes())
    except (OSError, ValueError, JoseError) as error:
        raise ConfigError(f"{where}: {error}") from error
    mine, known = key.private_key, certificates[0].public_key()
    if mine is None or not isinstance(known, EllipticCurvePublicKey) or mine.public_key() != known:
        raise ConfigError(f"{where}: key and certificate do not belong together")
    chain = tuple(base64.b64encode(c.public_bytes(Encoding.DER)).decode("ascii") for c in certificates)
    return Signer(settings, key, chain)
