"""What the gate and the ssh gateway ask on the internal port, each by its own secret, and learn nothing else."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ava.domain.problems import ApiError
from ava.domain.workbench import JUPYTER_PORT, AccessState
from ava.schemas.encoding import encode
from ava.services.auth import recent_login, ssh_keys
from ava.services.config import Workbenches
from ava.services.context import Context
from ava.services.workbenches import tickets
from ava.services.workbenches.access import ssh_name
from ava.services.workbenches.idle import JUMP
from ava.settings import ConfigError

log = logging.getLogger(__name__)
LARGEST = 2**20
SEEN = 60.0
"""Seconds between two notes that somebody is at work in a workbench."""
M = TypeVar("M", bound=BaseModel)
Text = Annotated[str, Field(max_length=2000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Enter(_Strict):
    """A ticket, with the secret of the browser that has it."""

    definition: Text
    ticket: Text
    secret: Text


class Check(_Strict):
    """A cookie that came with a request to a workbench's origin."""

    definition: Text
    cookie: Text


class Alive(_Strict):
    """Cookies by which connections are open."""

    cookies: Annotated[list[Text], Field(max_length=500)]


class Key(_Strict):
    """A public key by which somebody asks to come in; ``KIND BASE64``."""

    key: Annotated[str, Field(max_length=20_000)]


class Connection(_Strict):
    """A connection through the ssh gateway: the key that opened it, and the workbenches that it may reach."""

    key: Annotated[str, Field(max_length=20_000)]
    definitions: Annotated[list[Text], Field(max_length=10_000)]


class Connections(_Strict):
    """Connections that are open through a gateway."""

    connections: Annotated[list[Connection], Field(max_length=500)]


class Sessions(_Strict):
    """Workbenches with ssh sessions through a gateway."""

    definitions: Annotated[list[Text], Field(max_length=10_000)]


def routes(context: Context) -> list[Route]:
    """Return the routes of the internal port; none where the settings have no workbenches.

    Raises:
        ConfigError: a secret's file is of no use.
    """
    config = context.config.workbenches
    if config is None:
        return []
    doors = InternalAuth(context, config)
    gate = _secret(config.gate_secret)
    found = [
        Route("/door/enter", _guarded(gate, Enter, doors.enter), methods=["POST"]),
        Route("/door/check", _guarded(gate, Check, doors.check), methods=["POST"]),
        Route("/door/alive", _guarded(gate, Alive, doors.alive), methods=["POST"]),
    ]
    if config.jump is not None and config.jump_secret is not None:
        jump = _secret(config.jump_secret)
        found.append(Route("/door/keys", _guarded(jump, Key, doors.keys), methods=["POST"]))
        found.append(
            Route("/door/connections", _guarded(jump, Connections, doors.connections), methods=["POST"])
        )
        found.append(Route("/door/sessions", _guarded(jump, Sessions, doors.sessions), methods=["POST"]))
    return found


class InternalAuth:
    """Answers to what is asked."""

    def __init__(self, context: Context, config: Workbenches) -> None:
        self.services, self.config = context, config
        self._seen: dict[str, float] = {}

    def enter(self, asked: Enter) -> Response:
        """Return the cookie that a ticket gets, 403 for one that is of no use."""
        sealer = self.services.sealer
        who = tickets.of_ticket(sealer, asked.ticket, asked.secret)
        if who.definition != asked.definition or (wrong := self._wrong(self._at(who))) == 403 or wrong == 401:
            return Response(status_code=403)
        hours = self.services.config.session_hours
        return _json({"cookie": tickets.cookie(sealer, who), "seconds": hours * 3600})

    def check(self, asked: Check) -> Response:
        """Return where the workbench is for its owner; 401 nobody, 403 somebody else, 404 no such one, 409 it does not run."""
        who = tickets.of_cookie(self.services.sealer, asked.cookie)
        if who.definition != asked.definition:
            return Response(status_code=403)
        there = self._at(who)
        if wrong := self._wrong(there):
            return Response(status_code=wrong)
        assert there.bench is not None and there.user is not None and there.run is not None  # noqa: S101 - not wrong
        self._at_work([who.definition])
        said = {
            "user": there.user.name,
            "run": there.run.id,
            "address": there.address(),
            "port": JUPYTER_PORT,
        }
        return _json(said | {"token": self.services.sealer.open(there.bench.token)})

    def alive(self, asked: Alive) -> Response:
        """Return for each cookie whether what it opened may stay open."""
        found = [self._of(cookie) for cookie in asked.cookies]
        pairs = [(who.session, who.definition) for who in found if who is not None]
        store, least = self.services.store, recent_login.since(self.services)
        stay = store.active_sessions(pairs, self.services.clock(), least) if pairs else ()
        self._at_work({definition for _, definition in stay})
        return _json({"alive": [who is not None and (who.session, who.definition) in stay for who in found]})

    def keys(self, asked: Key) -> Response:
        """Return the lines of authorized_keys for a key: what it may reach, and nothing where it is nobody's.

        Every line allows connections to port 22 of workbenches of who has stored the key, by the names of their Services:
        each connection asks again where that is now.
        """
        line = _public(asked.key)
        if not line:
            return PlainTextResponse("")
        runs = [run for run in self.services.store.workbenches_of_key(line) if self._is_recent(run.owner)]
        domain = self.config.jump.domain if self.config.jump else ""
        open_to = [f'permitopen="{ssh_name(run.definition, run.group, domain)}:22"' for run in runs]
        said = f"restrict,port-forwarding,{','.join(open_to)} {line}\n" if open_to else ""
        return PlainTextResponse(said)

    def _is_recent(self, owner: str) -> bool:
        return recent_login.is_recent(self.services, self.services.store.user(owner))

    def connections(self, asked: Connections) -> Response:
        """Return for each connection through the ssh gateway whether it may stay open.

        It may as long as every owner of a workbench that it reaches may log in, has logged in lately, and keeps its key.
        """
        pairs = [(_public(one.key), one.definitions) for one in asked.connections]
        stay = self.services.store.keys_stay(pairs, recent_login.since(self.services)) if pairs else ()
        return _json({"stay": list(stay)})

    def sessions(self, asked: Sessions) -> Response:
        """Keep in which workbenches somebody is by ssh, and that the gateway tells of it."""
        self._at_work(set(asked.definitions))
        self.services.store.heartbeat(JUMP, self.services.clock(), {"sessions": len(asked.definitions)})
        return _json({})

    def _at_work(self, definitions: Iterable[str]) -> None:
        """Keep that somebody is in workbenches now; seldom, for it is asked for each request."""
        now = time.monotonic()
        for one in definitions:
            if now - self._seen.get(one, -SEEN) >= SEEN:
                self._seen[one] = now
                self.services.store.workbench_active(one, self.services.clock())

    def _of(self, cookie: str) -> tickets.Pass | None:
        try:
            return tickets.of_cookie(self.services.sealer, cookie)
        except ApiError:
            return None

    def _at(self, who: tickets.Pass) -> AccessState:
        return self.services.store.workbench_access(who.session, who.definition, self.services.clock())

    def _wrong(self, there: AccessState) -> int:
        if there.user is None or not recent_login.is_recent(self.services, there.user):
            return 401
        if there.owner is None:
            return 404
        if there.owner != there.user.name:
            return 403
        return 0 if there.bench is not None and there.address() else 409


def _public(key: str) -> str:
    """Return a key as users' keys are stored; empty for what is no key."""
    try:
        return ssh_keys.public(key)
    except ApiError:
        return ""


def _json(said: object) -> Response:
    return Response(encode(said), media_type="application/json", headers={"cache-control": "no-store"})


def _secret(path: Path) -> bytes:
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(secret) < 32:  # characters; less could be guessed
        raise ConfigError(f"{path}: holds {len(secret)} characters; wanted: a secret of at least 32")
    return secret


def _guarded(
    secret: bytes, model: type[M], answer: Callable[[M], Response]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        if not hmac.compare_digest(given, secret):
            return Response(status_code=401)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                return Response(status_code=413)
        try:
            return await run_in_threadpool(answer, model.model_validate_json(body))
        except ValidationError:
            return Response(status_code=422)
        except ApiError as refused:
            return Response(status_code=refused.status)
        except Exception:
            log.exception("%s", request.url.path)
            return Response(status_code=500)

    return endpoint
