"""What the gate and the ssh gateway ask on the internal port, each by its own secret, and learn nothing else."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ava.domain.problems import ApiError
from ava.schemas.encoding import encode
from ava.services.config import Workbenches
from ava.services.context import Context
from ava.services.workbenches.access import AccessDenied, WorkbenchAccess
from ava.settings import ConfigError

log = logging.getLogger(__name__)
LARGEST = 2**20
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
        self.context, self.access = context, WorkbenchAccess(context, config)

    def enter(self, asked: Enter) -> Response:
        """Answer the cookie that a ticket gets."""
        cookie = self.access.enter(asked.definition, asked.ticket, asked.secret)
        return _json({"cookie": cookie, "seconds": self.context.config.session_hours * 3600})

    def check(self, asked: Check) -> Response:
        """Answer where the workbench is for its owner."""
        return _json(asdict(self.access.find(asked.definition, asked.cookie)))

    def alive(self, asked: Alive) -> Response:
        """Answer for each cookie whether what it opened may stay open."""
        return _json({"alive": self.access.cookies_stay(asked.cookies)})

    def keys(self, asked: Key) -> Response:
        """Answer the lines of authorized_keys for a key."""
        return PlainTextResponse(self.access.authorized_keys(asked.key))

    def connections(self, asked: Connections) -> Response:
        """Answer for each connection through the ssh gateway whether it may stay open."""
        return _json(
            {"stay": self.access.connections_stay((one.key, one.definitions) for one in asked.connections)}
        )

    def sessions(self, asked: Sessions) -> Response:
        """Keep in which workbenches somebody is by ssh."""
        self.access.note_sessions(asked.definitions)
        return _json({})


def _json(content: object) -> Response:
    return Response(encode(content), media_type="application/json", headers={"cache-control": "no-store"})


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
        except (ApiError, AccessDenied) as refused:
            return Response(status_code=refused.status)
        except Exception:
            log.exception("%s", request.url.path)
            return Response(status_code=500)

    return endpoint
