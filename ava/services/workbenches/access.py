"""Ways into workbenches, as the gateways ask for them: browsers by tickets and cookies, terminals by ssh keys."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ava.domain import labels
from ava.domain.problems import ApiError
from ava.domain.workbench import JUPYTER_PORT, AccessState, service
from ava.services.auth import recent_login, ssh_keys
from ava.services.config import Workbenches
from ava.services.context import Context
from ava.services.workbenches import tickets
from ava.services.workbenches.idle import JUMP

SEEN = 60.0
"""Seconds between two notes that somebody is at work in a workbench."""


class AccessDenied(Exception):
    """A refusal to a gateway, which shows users its own pages.

    Attributes:
        status: 401 no one, 403 somebody else or a ticket of no use, 404 no such workbench, 409 it does not run.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Place:
    """Where a workbench is for its owner; ``token`` is that of its own server."""

    user: str
    run: str
    address: str
    port: int
    token: str


class WorkbenchAccess:
    """What gateways ask of a process. It remembers in which workbenches somebody was seen lately."""

    def __init__(self, context: Context, config: Workbenches) -> None:
        self.context, self.config = context, config
        self._seen: dict[str, float] = {}

    def enter(self, definition: str, ticket: str, secret: str) -> str:
        """Return the cookie that a ticket gets; AccessDenied or ApiError 403 for one that is of no use."""
        sealer = self.context.sealer
        who = tickets.of_ticket(sealer, ticket, secret)
        if who.definition != definition or self._wrong(self._at(who)) in (401, 403):
            raise AccessDenied(403)
        return tickets.cookie(sealer, who)

    def find(self, definition: str, cookie: str) -> Place:
        """Return where the workbench is for its owner; AccessDenied for anyone else who asks, and where it does not run."""
        who = tickets.of_cookie(self.context.sealer, cookie)
        if who.definition != definition:
            raise AccessDenied(403)
        there = self._at(who)
        if wrong := self._wrong(there):
            raise AccessDenied(wrong)
        assert there.bench is not None and there.user is not None and there.run is not None  # noqa: S101 - not wrong
        self._at_work([who.definition])
        token = self.context.sealer.open(there.bench.token)
        return Place(there.user.name, there.run.id, there.address(), JUPYTER_PORT, token)

    def cookies_stay(self, cookies: Sequence[str]) -> list[bool]:
        """Return for each cookie whether what it opened may stay open."""
        found = [self._of(cookie) for cookie in cookies]
        pairs = [(who.session, who.definition) for who in found if who is not None]
        db, least = self.context.db, recent_login.since(self.context)
        stay = db.workbenches.active_sessions(pairs, self.context.clock(), least) if pairs else ()
        self._at_work({definition for _, definition in stay})
        return [who is not None and (who.session, who.definition) in stay for who in found]

    def authorized_keys(self, key: str) -> str:
        """Return the lines of authorized_keys for a key: what it may reach, and nothing where it is unknown.

        Every line allows connections to port 22 of workbenches of who has stored the key, by the names of their Services:
        each connection asks again where that is now.
        """
        line = _public(key)
        if not line:
            return ""
        runs = [run for run in self.context.db.workbenches.list_by_key(line) if self._is_recent(run.owner)]
        domain = self.config.jump.domain if self.config.jump else ""
        open_to = [f'permitopen="{ssh_name(run.definition, run.group, domain)}:22"' for run in runs]
        return f"restrict,port-forwarding,{','.join(open_to)} {line}\n" if open_to else ""

    def connections_stay(self, connections: Iterable[tuple[str, Sequence[str]]]) -> list[bool]:
        """Return for each connection through the ssh gateway (key, workbenches that it may reach) whether it may stay open.

        It may as long as every owner of a workbench that it reaches may log in, has logged in lately, and keeps its key.
        """
        pairs = [(_public(key), list(definitions)) for key, definitions in connections]
        return list(
            self.context.db.workbenches.keys_stay(pairs, recent_login.since(self.context)) if pairs else ()
        )

    def note_sessions(self, definitions: Sequence[str]) -> None:
        """Keep in which workbenches somebody is by ssh, and that the gateway tells of it."""
        self._at_work(set(definitions))
        self.context.db.heartbeats.record(JUMP, self.context.clock(), {"sessions": len(definitions)})

    def _at_work(self, definitions: Iterable[str]) -> None:
        """Keep that somebody is in workbenches now; seldom, for it is asked for each request."""
        now = time.monotonic()
        for one in definitions:
            if now - self._seen.get(one, -SEEN) >= SEEN:
                self._seen[one] = now
                self.context.db.workbenches.record_activity(one, self.context.clock())

    def _of(self, cookie: str) -> tickets.Pass | None:
        try:
            return tickets.of_cookie(self.context.sealer, cookie)
        except ApiError:
            return None

    def _at(self, who: tickets.Pass) -> AccessState:
        return self.context.db.workbenches.access(who.session, who.definition, self.context.clock())

    def _is_recent(self, owner: str) -> bool:
        return recent_login.is_recent(self.context, self.context.db.users.get(owner))

    def _wrong(self, there: AccessState) -> int:
        if there.user is None or not recent_login.is_recent(self.context, there.user):
            return 401
        if there.owner is None:
            return 404
        if there.owner != there.user.name:
            return 403
        return 0 if there.bench is not None and there.address() else 409


def ssh_name(definition: str, group: str, domain: str) -> str:
    """Return the name by which the ssh gateway finds a workbench."""
    return f"{service(definition)}.{labels.namespace(group)}.svc.{domain}"


def _public(key: str) -> str:
    """Return a key as users' keys are stored; empty for what is no key."""
    try:
        return ssh_keys.public(key)
    except ApiError:
        return ""
