"""Passing one request, or one websocket, on to a workbench's Jupyter."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp import WSMsgType, web
from yarl import URL

from ava.gateway.http import headers
from ava.gateway.http.api_client import Route
from ava.gateway.http.budget import Budget, Meter

CHUNK = 2**16
INWARD, OUTWARD = 10 * 2**20, 2**26
"""Bytes of a websocket's message: Jupyter takes 10 MiB of a browser, and its kernels send larger ones."""
CONNECT = 5.0
"""Seconds in which a workbench's Jupyter has to take a connection."""
PING = 30.0
"""Seconds between two heartbeats of a websocket, on both sides."""
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
    request: web.Request, way: Route, origin: str, client: aiohttp.ClientSession, budget: Budget
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
    request: web.Request, way: Route, origin: str, client: aiohttp.ClientSession, budget: Budget
) -> web.StreamResponse:
    """Join a browser's websocket and one of the workbench's until either ends, or the budget is exceeded by it."""
    offered = [w.strip() for w in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if w.strip()]
    passed = headers.inward(request.headers, way.token, origin, websocket=True)
    passed["Origin"] = origin
    async with client.ws_connect(
        URL(way.url + request.raw_path, encoded=True),
        headers=passed,
        protocols=offered,
        max_msg_size=OUTWARD,
        heartbeat=PING,
        autoclose=False,
        timeout=aiohttp.ClientWSTimeout(ws_close=5.0),
    ) as inner:
        outer = web.WebSocketResponse(
            protocols=[inner.protocol] if inner.protocol else [],
            max_msg_size=INWARD,
            heartbeat=PING,
            timeout=5.0,
            # Packed messages would take more memory than they are counted for.
            compress=False,
        )
        await outer.prepare(request)
        meters = _metered(request, inner, budget)
        both = [
            asyncio.ensure_future(_pump(outer, inner, meters[0])),
            asyncio.ensure_future(_pump(inner, outer, meters[1])),
        ]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The session has ended, or the workbench: the browser sees the connection closed.
            await asyncio.shield(_close(outer, inner, aiohttp.WSCloseCode.POLICY_VIOLATION))
            raise
        finally:
            for meter in meters:
                budget.forget(meter)
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        await _close(outer, inner, inner.close_code or outer.close_code or aiohttp.WSCloseCode.GOING_AWAY)
        return outer


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


def _metered(
    request: web.Request, inner: aiohttp.ClientWebSocketResponse, budget: Budget
) -> tuple[Meter, Meter]:
    """Return the meters of what comes from the browser and from the workbench."""
    task, browser = asyncio.current_task(), request.transport
    assert task is not None and browser is not None  # noqa: S101 - called in one, for an open connection
    connection = inner._response.connection
    assert connection is not None and connection.protocol is not None  # noqa: S101 - a websocket has them
    bench = connection.protocol

    def cut() -> None:
        # What is unfinished is let go at once, not after the closing words.
        for transport in (browser, bench.transport):
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        task.cancel()

    return budget.meter(request.protocol, cut), budget.meter(bench, cut)


async def _pump(source: Socket, sink: Socket, meter: Meter) -> None:
    async for message in source:
        mark = meter.mark()
        if message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.ERROR:
            break
        meter.passed(mark)


async def _close(outer: Socket, inner: Socket, code: int) -> None:
    # Codes that only a broken connection has may not be sent.
    plain = code if code not in (1005, 1006, 1015) else aiohttp.WSCloseCode.GOING_AWAY
    for one in (outer, inner):
        try:
            await one.close(code=plain)
        except (ConnectionError, RuntimeError, TimeoutError):
            continue
