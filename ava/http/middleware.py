"""What surrounds every request: its size, its id, where it comes from, headers of every answer, figures, and the last catch."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import time
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ava.domain.phrases import Phrase
from ava.http import errors
from ava.services import metrics

log = logging.getLogger("ava.api")
LARGEST = 2**20
"""Bytes of a request's body."""
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"strict-transport-security", b"max-age=31536000"),
)


class Middleware:
    """The outermost layer.

    Args:
        app: what is guarded.
        proxies: networks whose X-Forwarded-For is believed.
        largest: bytes that a request's body may have.
    """

    def __init__(
        self, app: ASGIApp, proxies: Sequence[IPv4Network | IPv6Network] = (), largest: int = LARGEST
    ) -> None:
        self._app, self._proxies, self._largest = app, tuple(proxies), largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, begun, status, whole = secrets.token_hex(8), time.perf_counter(), 0, False
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        forwarded = [v.decode("latin-1") for k, v in scope["headers"] if k == b"x-forwarded-for"]
        scope.setdefault("state", {})["address"] = client_address(scope, ",".join(forwarded), self._proxies)
        scope["state"]["request_id"] = request_id

        async def answer(message: Message) -> None:
            nonlocal status, whole
            if message["type"] == "http.response.start":
                status = int(message["status"])
                own = {name for name, _ in message.get("headers", [])}
                message["headers"] = [
                    *message.get("headers", []),
                    *(h for h in _HEADERS if h[0] not in own),
                    (b"x-request-id", request_id.encode()),
                ]
            whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        where = scope["path"]
        try:
            if _announced(headers, self._largest) > self._largest:
                found = Phrase("{size} bytes", size=headers["content-length"][:20])
                await errors.of_http(413, where, found, {"connection": "close"})(scope, receive, answer)
            else:
                await self._app(scope, _bounded(receive, self._largest), answer)
        except Exception:
            # Its text may hold values of the request: it goes to the log alone.
            log.exception(
                "request %s: %s %s", request_id, scope["method"], where.encode("unicode_escape").decode()
            )
            if not status:
                await errors.internal(where, request_id)(scope, receive, answer)
            elif not whole:
                # Half an answer is out: the connection is cut, so that no one takes it for a whole one.
                raise
        finally:
            route, waited = scope.get("route"), scope["state"].get("waited", 0.0)
            metrics.request(
                scope["method"], getattr(route, "path", "none"), status, time.perf_counter() - begun - waited
            )


def _announced(headers: dict[str, str], largest: int) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else largest + 1


def _bounded(receive: Receive, largest: int) -> Receive:
    """Return a receive that ends a body of unknown length where it gets too large."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > largest:
            raise HTTPException(413, headers={"connection": "close"})
        return message

    return bounded


def client_address(scope: Scope, forwarded: str, proxies: Sequence[IPv4Network | IPv6Network]) -> str:
    """Return where a request comes from: the last address of X-Forwarded-For that no trusted proxy has.

    What stands before it was written by the client and is not believed.
    """
    client = scope.get("client")
    here = str(client[0]) if client else "unknown"
    chain = [*(part.strip() for part in forwarded.split(",") if part.strip()), here]
    for text in reversed(chain):
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            break
        here = str(address)
        if not any(address in network for network in proxies):
            break
    return here
