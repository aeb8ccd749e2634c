"""The principal of a request, and the secrets of sessions and tokens.

The database keeps the SHA-256 of a secret alone, and finds it by an index over that: what a wrong guess takes tells nothing of
the secret, of which 256 bits are random.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from ava.domain.model import User
from ava.services.auth import permissions
from ava.services.auth import scopes as token_scopes

PREFIX = "ava_"
"""What tokens begin with."""


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
    """The principal of a request: which user, from where, by what.

    Attributes:
        user: None: not logged in.
        kind: ``session`` or ``token``; "" for none.
        secret_id: the session's or token's id.
        scopes: those of the token; None: everything that the user may.
    """

    address: str
    user: User | None = None
    kind: str = ""
    secret_id: str = ""
    csrf: str = ""
    digest: str = ""
    scopes: token_scopes.Scopes = None

    @property
    def me(self) -> User:
        """The user; ApiError 401 without a login."""
        if self.user is None:
            raise permissions.unauthenticated()
        return self.user
