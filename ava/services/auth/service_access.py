"""Who may call a service: asked by the ingress before each request to one that is not public.

Only a token counts. Its owner has to be a member of the group that the service's run is charged to. The ingress takes the
token away before the service sees the request: a service could do anything with it that its caller may.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ava.db.database import Database
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, missing
from ava.services.auth.caller import Caller
from ava.services.auth.scopes import refusal
from ava.services.context import Context

WHO = "x-ava-user"
"""Header that tells a service who calls; what a client sends under this name never reaches it."""
FRESH = 5.0
"""Seconds for which an answer is given again: so long a member who was taken out may still call."""
MOST = 100_000
"""Answers kept at once."""


class Callers:
    """Remembers for some seconds which services there are and who may call them."""

    def __init__(self, db: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self.db, self._clock = db, clock
        self._lock = threading.Lock()
        self._groups: dict[str, str] = {}
        self._read = float("-inf")
        self._allowed: dict[tuple[str, str], tuple[float, str]] = {}

    def group(self, label: str) -> str | None:
        """Return the group whose members may call a service, by the first label of its host name; None where there is none."""
        now = self._clock()
        with self._lock:
            # A name that is not known may be that of a service of a moment ago.
            if now - self._read > (FRESH if label in self._groups else 1.0):
                self._groups, self._read = dict(self.db.model_services.addresses()), now
            return self._groups.get(label)

    def remembered(self, label: str, digest: str) -> str | None:
        """Return who a token is of that was let through moments ago."""
        until, user = self._allowed.get((label, digest), (0.0, ""))
        return user if until > self._clock() else None

    def remember(self, label: str, digest: str, user: str) -> None:
        """Let a token through for some seconds."""
        if len(self._allowed) >= MOST:
            self._allowed = {}
        self._allowed[label, digest] = (self._clock() + FRESH, user)


def find_service(context: Context, callers: Callers, host: str) -> tuple[str, str]:
    """Return a service by its host name: the first label of that, and the group whose members may call it; ApiError 404."""
    label, _, domain = host.partition(":")[0].lower().partition(".")
    group = callers.group(label) if domain and domain == context.config.services_domain else None
    if group is None:
        raise missing("service of this name", "host")
    return label, group


def permit(context: Context, callers: Callers, label: str, group: str, caller: Caller) -> str:
    """Return the name of a caller who may call a service; ApiError 401 without a token, 403 for who is not in its group."""
    if caller.kind != "token" or caller.user is None:
        raise ApiError(
            401,
            Problem(
                "token-missing",
                Phrase("This service is for members of its group."),
                "header Authorization",
                Phrase("no token"),
                Phrase("Bearer TOKEN"),
                Phrase("Make a token with `ava token create` and send it."),
            ),
        )
    if caller.scopes is not None and "runs" not in caller.scopes:
        raise refusal(caller.scopes, ["runs"])
    if (known := callers.remembered(label, caller.digest)) is not None:
        return known
    if caller.user.name not in {member.name for member in context.db.groups.members(group)}:
        raise ApiError(
            403,
            Problem(
                "not-a-member",
                Phrase("This service is for members of its group."),
                "header Authorization",
                Phrase("a token of somebody else"),
                Phrase("a token of a member"),
                Phrase("Ask an administrator to put you into the group, or its owner to make it public."),
            ),
        )
    callers.remember(label, caller.digest, caller.user.name)
    return caller.user.name
