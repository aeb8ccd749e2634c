"""Passwords: argon2id by argon2-cffi, a length rule, and no way to tell an unknown name by the time it takes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

LEAST, MOST = 12, 256
"""Characters. The upper bound keeps a request from costing more than another."""
COST: dict[str, Any] = {
    "time_cost": 2,
    "memory_cost": 19 * 1024,
    "parallelism": 1,
    "hash_len": 32,
    "salt_len": 16,
}
"""OWASP's argon2id parameters (Password Storage Cheat Sheet): 19 MiB, 2 rounds, 1 lane."""
AT_ONCE = 4
"""Hashes computed at once: a flood of logins takes 76 MiB and leaves threads for others."""


PATIENCE = 5.0
"""Seconds that a login waits for its turn."""


class Passwords:
    """Hashes and verifies. ``cost`` is pinned above; tests take a cheaper one."""

    def __init__(self, cost: dict[str, Any] | None = None) -> None:
        self._hasher = PasswordHasher(**(cost or COST))
        self._turn = BoundedSemaphore(AT_ONCE)
        # Verified against where there is no such person, so that the answer takes as long.
        self._dummy_hash = self._hasher.hash(secrets.token_urlsafe())

    def hash(self, password: str) -> str:
        """Return the hash that is kept."""
        with self._one():
            return self._hasher.hash(password)

    def matches(self, kept: str | None, password: str) -> bool:
        """Whether a password is that of the kept hash; None (no such person) takes as long and never matches."""
        with self._one():
            try:
                return self._hasher.verify(kept or self._dummy_hash, password) and kept is not None
            except (VerificationError, InvalidHashError):
                return False

    @contextmanager
    def _one(self) -> Iterator[None]:
        """Hold one of the turns; ApiError 503 where a flood of logins has them, so that they do not take every thread."""
        if not self._turn.acquire(timeout=PATIENCE):
            raise ApiError(
                503,
                Problem(
                    "busy",
                    Phrase("There are too many logins at the moment."),
                    "request",
                    Phrase("no turn within {seconds} s", seconds=f"{PATIENCE:g}"),
                    Phrase("a turn"),
                    Phrase("Try again in some seconds."),
                ),
            )
        try:
            yield
        finally:
            self._turn.release()

    def outdated(self, kept: str) -> bool:
        """Whether the hash was made with other parameters than today's, and is to be made again at login."""
        try:
            return self._hasher.check_needs_rehash(kept)
        except InvalidHashError:
            return True
