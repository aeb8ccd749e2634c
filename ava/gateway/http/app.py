"""The gate's application: who comes to which workbench, by which cookie, and the way in by a ticket."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
from urllib.parse import quote

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge

from ava import build
from ava.gateway.http import headers, pages, proxy
from ava.gateway.http.api_client import AccessRefused, ApiClient
from ava.gateway.http.budget import Budget
from ava.gateway.http.config import Config
from ava.gateway.http.connections import ConnectionTracker

log = logging.getLogger(__name__)
ENTER = "/.ava/enter"
STATE_SECONDS = 600
"""How long somebody may take to log in, on the way into a workbench."""
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError)


class HttpGateway:
    """Serves all workbenches' origins."""

    def __init__(self, config: Config, asks: ApiClient, client: aiohttp.ClientSession) -> None:
        self.config, self.asks, self.client = config, asks, client
        self.open = ConnectionTracker(config.deaf)
        self.budget = Budget(config.held)
        self.host = re.compile(rf"^([a-z0-9]{{1,20}})\.{re.escape(config.below)}$")
        self.registry = CollectorRegistry()
        build.publish(self.registry)
        self.requests = Counter(
            "ava_gate_requests", "requests to workbenches", ["outcome"], registry=self.registry
        )
        self.cut = Counter(
            "ava_gate_cut", "connections cut as their session or workbench ended", registry=self.registry
        )
        Gauge("ava_gate_open", "requests and websockets that are open", registry=self.registry).set_function(
            lambda: len(self.open)
        )
        held = "bytes of websocket messages that are held, unfinished or not yet taken"
        Gauge("ava_gate_held_bytes", held, registry=self.registry).set_function(lambda: self.budget.held)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        # The port is no part of an origin here: the ingress serves these names at 443 alone.
        found = self.host.match(request.host.partition(":")[0].lower())
        if found is None:
            return self._respond(404, "other-host", pages.plain("There is no workbench of this name."))
        definition, origin = found[1], f"https://{found[0]}"
        if request.path == ENTER:
            return await self._enter(request, definition)
        websocket = proxy.is_websocket(request)
        if not headers.from_here(request.method, request.headers, origin, websocket=websocket):
            return self._respond(403, "other-origin", pages.plain("This request comes from another page."))
        cookie = headers.cookie(request.headers.getall("Cookie", []), headers.COOKIE)
        if not cookie:
            return self._refused(request, definition, 401)
        try:
            with self.open.held(cookie):
                if websocket and not self.open.socket(cookie, self.config.sockets):
                    return self._respond(
                        429,
                        "too-many-sockets",
                        pages.plain("Too many connections are open: close some tabs."),
                    )
                way = await self.asks.check(definition, cookie)
                passing = proxy.websocket if websocket else proxy.http
                self.requests.labels("passed").inc()
                return await passing(request, way, origin, self.client, self.budget)
        except AccessRefused as refused:
            return self._refused(request, definition, refused.status)
        except GONE as error:
            log.info("workbench %s: %s", definition, type(error).__name__)
            if request.transport is None or request.transport.is_closing():
                raise
            return self._respond(502, "no-answer", pages.waits("JupyterLab does not answer (yet)."))

    def _refused(self, request: web.Request, definition: str, status: int) -> web.Response:
        page = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
        if status in (401, 403) and page and request.headers.get("Sec-Fetch-Dest", "document") == "document":
            return self._sent_to_the_site(definition)
        words = {
            401: "You are not logged in (any more).",
            403: "This workbench is somebody else's.",
            404: "There is no workbench of this name.",
            409: "This workbench does not run now.",
        }
        body = words.get(status, "The platform does not answer; try again in a moment.")
        waits = page and status in (409, 503)
        return self._respond(
            503 if status in (409, 503) else status,
            "refused",
            pages.waits(body) if waits else pages.plain(body),
        )

    def _sent_to_the_site(self, definition: str) -> web.Response:
        """Send a browser to the site for a ticket, which is then good in this browser alone."""
        secret = secrets.token_urlsafe(32)
        state = hashlib.sha256(secret.encode()).hexdigest()
        where = f"{self.config.site}/api/v1/workbenches/{quote(definition)}/open?state={state}"
        answer = self._respond(303, "sent-to-site", web.Response(headers={"Location": where}))
        self._set(answer, headers.STATE, secret, STATE_SECONDS)
        return answer

    async def _enter(self, request: web.Request, definition: str) -> web.Response:
        secret = headers.cookie(request.headers.getall("Cookie", []), headers.STATE)
        ticket = request.query.get("ticket", "")
        words = "This link is not valid (any more). Open the workbench from its page again."
        if request.method != "GET" or not secret or not ticket:
            return self._respond(403, "bad-ticket", pages.plain(words))
        try:
            cookie, seconds = await self.asks.enter(definition, ticket, secret)
        except AccessRefused as refused:
            status = 503 if refused.status == 503 else 403
            return self._respond(status, "bad-ticket", pages.plain(words))
        answer = self._respond(303, "entered", web.Response(headers={"Location": "/"}))
        self._set(answer, headers.COOKIE, cookie, seconds)
        answer.del_cookie(headers.STATE, path="/", secure=True, httponly=True, samesite="Lax")
        return answer

    @staticmethod
    def _set(answer: web.Response, name: str, value: str, seconds: int) -> None:
        answer.set_cookie(name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="Lax")

    def _respond(self, status: int, outcome: str, answer: web.Response) -> web.Response:
        self.requests.labels(outcome).inc()
        answer.set_status(status)
        answer.headers.update(pages.HEADERS)
        return answer

    async def watch(self) -> None:
        """Cut for ever what may not stay open."""
        while True:
            await asyncio.sleep(self.config.every)
            try:
                self.cut.inc(await self.open.look(self.asks))
            except Exception:
                log.exception("looking at what is open")
