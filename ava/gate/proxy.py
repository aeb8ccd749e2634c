"""Passing one request, or one websocket, on to a workbench's Jupyter."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp import WSMsgType, web
from yarl import URL

from ava.gate import headers
from ava.gate.asks import Way

CHUNK = 2**16
MESSAGE = 2**26
"""Bytes of a websocket's message; Jupyter takes 10 MiB of a browser, and its kernels send larger ones."""
CONNECT = 5.0
"""Seconds in which a workbench's Jupyter has to take a connection."""
PING = 30.0
"""Seconds between two signs of life of a websocket, on both sides."""
NO_BODY = frozenset({204, 304})


def session() -> aiohttp.ClientSession:
    """Return what connections to workbenches are made with: nothing of one is kept for another."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=0, limit_per_host=200, keepalive_timeout=15),
        max_line_size=2**14,
        max_field_size=2**15,
    )


def is_websocket(request: web.Request) -> bool:
    """Whether a request asks for a websocket."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


async def http(
    request: web.Request, way: Way, origin: str, client: aiohttp.ClientSession
) -> web.StreamResponse:
    """Pass a request on and its answer back, both as they come."""
    body = request.content if request.body_exists else None
    passed = headers.inward(request.headers, way.token, origin)
    async with client.request(
        request.method,
        URL(way.url + request.raw_path, encoded=True),
        headers=passed,
        data=body,
        allow_redirects=False,
    ) as answer:
        back = web.StreamResponse(status=answer.status, reason=answer.reason)
        back.headers.update(headers.outward(answer.headers))
        if request.method == "HEAD" or answer.status in NO_BODY:
            await back.prepare(request)
            await back.write_eof()
            return back
        await back.prepare(request)
        async for chunk in answer.content.iter_chunked(CHUNK):
            await back.write(chunk)
        await back.write_eof()
        return back


async def websocket(
    request: web.Request, way: Way, origin: str, client: aiohttp.ClientSession
) -> web.StreamResponse:
    """Join a browser's websocket and one of the workbench's until either ends."""
    offered = [w.strip() for w in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if w.strip()]
    passed = headers.inward(request.headers, way.token, origin, websocket=True)
    passed["Origin"] = origin
    async with client.ws_connect(
        URL(way.url + request.raw_path, encoded=True),
        headers=passed,
        protocols=offered,
        max_msg_size=MESSAGE,
        heartbeat=PING,
        autoclose=False,
        timeout=aiohttp.ClientWSTimeout(ws_close=5.0),
    ) as inner:
        outer = web.WebSocketResponse(
            protocols=[inner.protocol] if inner.protocol else [],
            max_msg_size=MESSAGE,
            heartbeat=PING,
            timeout=5.0,
        )
        await outer.prepare(request)
        both = [asyncio.ensure_future(_pump(outer, inner)), asyncio.ensure_future(_pump(inner, outer))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The session has ended, or the workbench: the browser is told, and does not get an answer any more.
            await asyncio.shield(_close(outer, inner, aiohttp.WSCloseCode.POLICY_VIOLATION))
            raise
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        await _close(outer, inner, inner.close_code or outer.close_code or aiohttp.WSCloseCode.GOING_AWAY)
        return outer


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def _pump(source: Socket, sink: Socket) -> None:
    async for message in source:
        if message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.ERROR:
            break


async def _close(outer: Socket, inner: Socket, code: int) -> None:
    # Codes that only a broken connection has may not be sent.
    plain = code if code not in (1005, 1006, 1015) else aiohttp.WSCloseCode.GOING_AWAY
    for one in (outer, inner):
        try:
            await one.close(code=plain)
        except (ConnectionError, RuntimeError, TimeoutError):
            continue
