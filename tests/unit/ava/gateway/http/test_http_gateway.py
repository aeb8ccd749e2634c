"""The gate between a browser, the API and a workbench, all in this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from ava.gateway.http import proxy
from ava.gateway.http.__main__ import application
from ava.gateway.http.api_client import ApiClient
from ava.gateway.http.app import HttpGateway
from ava.gateway.http.config import Config
from ava.gateway.http.headers import COOKIE, STATE

BENCH, HOST = "d1bench", "d1bench.wb.example.org"
ORIGIN = f"https://{HOST}"
SECRET = "s" * 40


@dataclass
class Room:
    """The gate's surroundings.

    Attributes:
        good: cookies that open BENCH.
        status: what the API answers to every question; 0: as it should.
        seen: headers of requests that the workbench got.
    """

    gate: HttpGateway
    browser: aiohttp.ClientSession
    url: str
    good: set[str] = field(default_factory=lambda: {"good"})
    status: int = 0
    seen: list[dict[str, str]] = field(default_factory=list)

    def headers(self, cookie: str = "good", **more: str) -> dict[str, str]:
        sent = {"Host": HOST, "Origin": ORIGIN, "Cookie": f"{COOKIE}={cookie}; _xsrf=2|abc"}
        return sent | {key.replace("_", "-"): value for key, value in more.items()}

    async def ask(
        self, method: str = "GET", path: str = "/lab", **more: Any
    ) -> tuple[int, dict[str, str], str]:
        more.setdefault("headers", self.headers())
        async with self.browser.request(
            method, URL(self.url + path, encoded=True), allow_redirects=False, **more
        ) as answer:
            return answer.status, dict(answer.headers), await answer.text()


def jupyter(room: list[Room]) -> web.Application:
    """A workbench that tells what it was asked, sets cookies that it may not, and has a websocket that answers."""

    async def page(request: web.Request) -> web.Response:
        room[0].seen.append({k.lower(): v for k, v in request.headers.items()})
        answer = web.Response(text=f"{request.method} {request.raw_path} {len(await request.read())}")
        answer.headers.add("Set-Cookie", "_xsrf=new; Path=/")
        answer.headers.add("Set-Cookie", f"{COOKIE}=mine; Path=/; Secure")
        answer.headers.add("Set-Cookie", "all=mine; Domain=example.org")
        return answer

    async def socket(request: web.Request) -> web.WebSocketResponse:
        room[0].seen.append({k.lower(): v for k, v in request.headers.items()})
        it = web.WebSocketResponse(protocols=["v1.kernel.websocket.jupyter.org"], max_msg_size=0)
        await it.prepare(request)
        async for message in it:
            if message.data == "close":
                await it.close(code=4001)
            elif message.type is aiohttp.WSMsgType.TEXT:
                await it.send_str(f"echo {message.data}")
            else:
                await it.send_bytes(message.data[::-1])
        return it

    async def forever(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"first")
        await asyncio.sleep(3600)
        return answer

    app = web.Application(client_max_size=2**30)
    app.add_routes(
        [web.get("/socket", socket), web.get("/forever", forever), web.route("*", "/{x:.*}", page)]
    )
    return app


def api(room: list[Room], where: list[int]) -> web.Application:
    """The API's internal port."""

    async def door(request: web.Request) -> web.Response:
        here = room[0]
        if request.headers.get("Authorization") != f"Bearer {SECRET}":
            return web.Response(status=401)
        if here.status:
            return web.Response(status=here.status)
        asked = await request.json()
        if request.match_info["what"] == "alive":
            return web.json_response({"alive": [cookie in here.good for cookie in asked["cookies"]]})
        if request.match_info["what"] == "enter":
            if (asked["definition"], asked["ticket"], asked["secret"]) != (BENCH, "card", "mine"):
                return web.Response(status=403)
            return web.json_response({"cookie": "good", "seconds": 60})
        if asked["cookie"] not in here.good or asked["definition"] != BENCH:
            return web.Response(status=403)
        report = {"user": "ann", "run": "r1", "address": "127.0.0.1", "port": where[0], "token": "jupyters"}
        return web.json_response(report)

    app = web.Application()
    app.router.add_post("/door/{what}", door)
    return app


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[int]:
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def room(every: float = 0.05, deaf: float = 60) -> AsyncIterator[Room]:
    made: list[Room] = []
    where: list[int] = []
    async with served(jupyter(made)) as bench, served(api(made, where)) as door:
        where.append(bench)
        config = Config(
            api=f"http://127.0.0.1:{door}",
            secret=Path("unread"),
            site="https://ava.example.org",
            below="wb.example.org",
            every=every,
            deaf=deaf,
        )
        asks = ApiClient(config.api, SECRET)
        async with (
            proxy.session() as client,
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as browser,
        ):
            gate = HttpGateway(config, asks, client)
            async with served(application(gate)) as port:
                made.append(Room(gate, browser, f"http://127.0.0.1:{port}"))
                watch = asyncio.create_task(gate.watch())
                try:
                    yield made[0]
                finally:
                    watch.cancel()
        await asks.close()


def test_the_owners_request_reaches_jupyter_with_its_token_and_without_the_gates_cookie() -> None:
    async def go() -> None:
        async with room() as here:
            status, headers, text = await here.ask("PUT", "/api/a%2Fb?y=%2Fz", data=b"12345")
            assert (status, text) == (200, "PUT /api/a%2Fb?y=%2Fz 5")
            seen = here.seen[0]
            assert seen["authorization"] == "token jupyters"
            assert seen["cookie"] == "_xsrf=2|abc"
            assert (seen["host"], seen["x-forwarded-proto"]) == (HOST, "https")
            assert "jupyters" not in str(headers)

    asyncio.run(go())


def test_a_workbench_sets_no_cookie_of_the_gates_and_none_for_other_names() -> None:
    async def go() -> None:
        async with (
            room() as here,
            here.browser.get(f"{here.url}/lab", headers=here.headers()) as answer,
        ):
            assert answer.headers.getall("Set-Cookie") == ["_xsrf=new; Path=/"]
            assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"

    asyncio.run(go())


def test_no_one_and_strangers_do_not_get_in() -> None:
    async def go() -> None:
        async with room() as here:
            for cookie in ("", "bad", "good; __Host-ava-bench=bad"):
                status, _, _ = await here.ask(headers=here.headers(cookie))
                assert status in (401, 403), cookie
            status, _, _ = await here.ask(
                headers=here.headers() | {"Authorization": "token jupyters", "Cookie": ""}
            )
            assert status == 401
            for host in ("wb.example.org", "ava.example.org", f"x.{HOST}", "d1bench.wb.example.org.evil.org"):
                status, _, _ = await here.ask(headers=here.headers() | {"Host": host})
                assert status == 404, host
            assert here.seen == []

    asyncio.run(go())


def test_a_browser_without_a_cookie_is_sent_to_the_site_and_comes_back_with_a_ticket() -> None:
    async def go() -> None:
        async with room() as here:
            page = {"Host": HOST, "Accept": "text/html"}
            status, headers, _ = await here.ask(headers=page)
            assert status == 303
            assert headers["Location"].startswith(
                f"https://ava.example.org/api/v1/workbenches/{BENCH}/open?state="
            )
            name, _, rest = headers["Set-Cookie"].partition("=")
            assert name == STATE
            assert {"HttpOnly", "Secure", "Path=/", "SameSite=Lax"} <= {p.strip() for p in rest.split(";")}
            for cookie, ticket in (("mine", "other"), ("theirs", "card"), ("", "card"), ("mine", "")):
                sent = page | {"Cookie": f"{STATE}={cookie}"}
                status, headers, _ = await here.ask(path=f"/.ava/enter?ticket={ticket}", headers=sent)
                assert (status, headers.get("Set-Cookie")) == (403, None)
            sent = page | {"Cookie": f"{STATE}=mine"}
            async with here.browser.get(
                f"{here.url}/.ava/enter?ticket=card", headers=sent, allow_redirects=False
            ) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/")
                first, second = answer.headers.getall("Set-Cookie")
                assert first.startswith(f"{COOKIE}=good;")
                assert second.startswith(f'{STATE}="";')
            assert here.seen == []

    asyncio.run(go())


def test_other_pages_get_nothing_in_the_owners_name() -> None:
    async def go() -> None:
        async with room() as here:
            for method, headers in (
                ("POST", here.headers(Origin="https://evil.example")),
                ("POST", here.headers(Origin="https://d2other.wb.example.org")),
                ("POST", here.headers(Origin="null")),
                ("DELETE", {k: v for k, v in here.headers().items() if k != "Origin"}),
                ("GET", here.headers(Origin="https://ava.example.org")),
                ("GET", here.headers(Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors")),
                (
                    "GET",
                    here.headers(
                        Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe"
                    ),
                ),
                (
                    "GET",
                    here.headers(Origin="https://evil.example", Upgrade="websocket", Connection="Upgrade"),
                ),
            ):
                status, _, _ = await here.ask(method, headers=headers)
                assert status == 403, (method, headers)
            assert here.seen == []
            link = {
                "Sec_Fetch_Site": "cross-site",
                "Sec_Fetch_Mode": "navigate",
                "Sec_Fetch_Dest": "document",
            }
            status, _, _ = await here.ask(headers=here.headers(**link))
            assert status == 200, "a link is followed"

    asyncio.run(go())


def test_a_websocket_passes_both_ways_with_its_protocol_and_its_close() -> None:
    async def go() -> None:
        async with (
            room() as here,
            here.browser.ws_connect(
                f"{here.url}/socket",
                headers=here.headers(),
                protocols=["v1.kernel.websocket.jupyter.org", "other"],
            ) as socket,
        ):
            assert socket.protocol == "v1.kernel.websocket.jupyter.org"
            await socket.send_str("hello")
            assert (await socket.receive()).data == "echo hello"
            await socket.send_bytes(b"\0" * 2**20 + b"1")
            assert (await socket.receive()).data == b"1" + b"\0" * 2**20
            await socket.send_str("close")
            await socket.receive()
            assert socket.close_code == 4001
            assert here.seen[0]["authorization"] == "token jupyters"
            assert "__host" not in here.seen[0]["cookie"].lower()

    asyncio.run(go())


def test_what_is_open_is_cut_when_the_session_ends_and_the_rest_goes_on() -> None:
    async def go() -> None:
        async with room() as here:
            here.good.add("other")
            async with (
                here.browser.ws_connect(f"{here.url}/socket", headers=here.headers()) as socket,
                here.browser.ws_connect(f"{here.url}/socket", headers=here.headers("other")) as other,
                here.browser.get(f"{here.url}/forever", headers=here.headers()) as download,
            ):
                assert await download.content.readany() == b"first"
                here.good.discard("good")
                message = await socket.receive(timeout=5)
                assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
                assert socket.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION
                try:
                    rest = await asyncio.wait_for(download.content.read(), 5)
                except aiohttp.ClientError:
                    rest = b""
                assert rest == b"", "the download has ended"
                await other.send_str("still")
                assert (await other.receive(timeout=5)).data == "echo still"
                assert len(here.gate.open) == 1
            status, _, _ = await here.ask()
            assert status == 403

    asyncio.run(go())


def test_an_api_that_does_not_answer_lets_no_one_in_and_cuts_what_is_open_after_a_while() -> None:
    async def go() -> None:
        async with (
            room(deaf=0.5) as here,
            here.browser.ws_connect(f"{here.url}/socket", headers=here.headers()) as socket,
        ):
            here.status = 500
            status, headers, _ = await here.ask()
            assert (status, headers["Cache-Control"]) == (503, "no-store")
            await socket.send_str("still")
            assert (await socket.receive(timeout=5)).data == "echo still"
            await socket.receive(timeout=5)
            assert socket.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION

    asyncio.run(go())


def test_a_workbench_that_does_not_run_or_not_answer_is_reported() -> None:
    async def go() -> None:
        async with room() as here:
            here.status = 409
            status, _, text = await here.ask(headers=here.headers(Accept="text/html"))
            assert status == 503
            assert "does not run" in text
            here.status = 404
            assert (await here.ask())[0] == 404

    asyncio.run(go())


def test_a_browser_that_goes_away_leaves_nothing_open() -> None:
    async def go() -> None:
        async with room() as here:
            async with here.browser.get(f"{here.url}/forever", headers=here.headers()) as download:
                await download.content.readany()
                assert len(here.gate.open) == 1
            for _ in range(100):
                if not len(here.gate.open):
                    break
                await asyncio.sleep(0.02)
            assert len(here.gate.open) == 0

    asyncio.run(go())


def test_messages_of_a_browser_are_bounded_as_jupyter_bounds_them() -> None:
    async def go() -> None:
        async with (
            room() as here,
            here.browser.ws_connect(f"{here.url}/socket", headers=here.headers(), max_msg_size=0) as socket,
        ):
            await socket.send_bytes(b"x" * (9 * 2**20))
            assert (await socket.receive(timeout=10)).type is aiohttp.WSMsgType.BINARY
            with contextlib.suppress(ConnectionError):
                await socket.send_bytes(b"x" * (11 * 2**20))
            while (message := await socket.receive(timeout=10)).type is aiohttp.WSMsgType.BINARY:
                assert len(message.data) < 10 * 2**20
            assert socket.closed

    asyncio.run(go())


def test_a_session_has_a_bounded_number_of_websockets() -> None:
    async def go() -> None:
        async with room() as here:
            most = here.gate.config.sockets
            here.good.add("other")
            for _ in range(2):
                open_ = [
                    await here.browser.ws_connect(f"{here.url}/socket", headers=here.headers())
                    for _ in range(most)
                ]
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await here.browser.ws_connect(f"{here.url}/socket", headers=here.headers())
                assert refused.value.status == 429
                other = await here.browser.ws_connect(f"{here.url}/socket", headers=here.headers("other"))
                # A page is no websocket; and what was closed makes room.
                assert (await here.ask())[0] == 200
                for one in (*open_, other):
                    await one.close()
                async with asyncio.timeout(5):
                    while len(here.gate.open):
                        await asyncio.sleep(0.01)

    asyncio.run(go())


def test_unfinished_messages_cut_the_socket_that_holds_most_and_no_other() -> None:
    """Frames without FIN: a message of one user that never ends. All others continue."""

    async def go() -> None:
        async with room() as here:
            here.gate.budget.most = 12 * 2**20
            here.good.add("other")
            other = await here.browser.ws_connect(f"{here.url}/socket", headers=here.headers("other"))
            await other.send_str("first")
            assert (await other.receive(timeout=5)).data == "echo first"
            hostile = [
                await here.browser.ws_connect(f"{here.url}/socket", headers=here.headers()) for _ in range(4)
            ]
            for i, one in enumerate(hostile):
                assert one._writer is not None
                transport = one._writer.transport
                # A text frame without FIN and its continuations, masked by zeros.
                for opcode in [0x01] + [0x00] * (4 * 8 - 1 + i):
                    transport.write(bytes([opcode, 0x80 | 127]) + (2**17).to_bytes(8, "big") + b"\0" * 4)
                    transport.write(b"x" * 2**17)
            async with asyncio.timeout(20):
                while not here.gate.budget.cut:
                    await asyncio.sleep(0.02)
                while here.gate.budget.held > here.gate.budget.most:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
            assert here.gate.budget.held <= here.gate.budget.most
            assert here.gate.budget.cut in (1, 2)
            await other.send_str("still")
            assert (await other.receive(timeout=5)).data == "echo still"
            for one in hostile:
                one._response.close()

    asyncio.run(go())


def test_messages_that_were_passed_on_are_not_held() -> None:
    async def go() -> None:
        async with (
            room() as here,
            here.browser.ws_connect(f"{here.url}/socket", headers=here.headers()) as socket,
        ):
            for _ in range(50):
                await socket.send_bytes(b"x" * 2**20)
                await socket.receive(timeout=10)
            async with asyncio.timeout(5):
                while here.gate.budget.held > 2**17:
                    await asyncio.sleep(0.01)
            assert here.gate.budget.cut == 0

    asyncio.run(go())
