"""Tokens for the site's registry (docker's token protocol): short-lived, signed, with what was asked for and may be had.

https://distribution.github.io/distribution/spec/auth/jwt/ says what is in one. The key is AVA's alone; the registry trusts the
authority of its certificate, which signs nothing else.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from ava.services.auth.caller import Caller
from ava.services.config import UserRegistry
from ava.settings import ConfigError

SECONDS = 300
"""A token's life. Who leaves a group pulls so long at most; docker asks for another one by itself."""
PUSHING = 60
"""The life of one that pushes, the least that docker's clients know: for so long whose space is used up may continue."""
BACK = 30
"""Seconds that a registry's clock may be behind."""
Granted = Mapping[str, tuple[str, ...]]
"""Repository to what may be done with it."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs tokens for one registry."""

    settings: UserRegistry
    key: ECKey
    chain: tuple[str, ...]

    def token(self, caller: Caller, granted: Granted, now: datetime) -> str:
        """Return a token for a user; ApiError 401 without a login."""
        return self._signed(caller.me.name, granted, now, seconds(granted))

    def removal(self, repository: str, now: datetime) -> str:
        """Return a token by which the API itself, and no one else, removes from one repository."""
        return self._signed("", {repository: ("delete",)}, now, PUSHING)

    def _signed(self, subject: str, granted: Granted, now: datetime, life: int) -> str:
        at = int(now.timestamp())
        claims = {
            "iss": self.settings.issuer,
            "sub": subject,
            "aud": self.settings.host,
            "iat": at,
            "nbf": at - BACK,
            "exp": at + life,
            "jti": secrets.token_urlsafe(16),
            "access": [
                {"type": "repository", "name": name, "actions": list(actions)}
                for name, actions in granted.items()
            ],
        }
        header = {"typ": "JWT", "alg": "ES256", "x5c": list(self.chain)}
        return jwt.encode(header, claims, self.key, algorithms=["ES256"])


def seconds(granted: Granted) -> int:
    """Return the life of a token."""
    return PUSHING if any("push" in actions for actions in granted.values()) else SECONDS


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
