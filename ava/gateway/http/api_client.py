"""What the gate asks of the API, on its internal port and with the gate's own secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

CONNECT, TOTAL = 3.0, 10.0
"""Seconds."""


class AccessRefused(Exception):
    """The API says no: 401 no one, 403 somebody else, 404 no such workbench, 409 it does not run; 503 it does not answer."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass(frozen=True, slots=True)
class Route:
    """Where a workbench is, for its owner.

    Attributes:
        token: what Jupyter wants of who asks.
    """

    address: str
    port: int
    token: str
    run: str

    @property
    def url(self) -> str:
        """Return its URL."""
        return f"http://{self.address}:{self.port}"


class ApiClient:
    """Asks; one connection pool for all."""

    def __init__(self, api: str, secret: str) -> None:
        self._session = aiohttp.ClientSession(
            api,
            headers={"Authorization": f"Bearer {secret}"},
            timeout=aiohttp.ClientTimeout(total=TOTAL, sock_connect=CONNECT),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()

    async def enter(self, definition: str, ticket: str, secret: str) -> tuple[str, int]:
        """Return the cookie that a ticket gets, and for how many seconds browsers keep it."""
        reply = await self._ask("enter", definition=definition, ticket=ticket, secret=secret)
        return str(reply["cookie"]), int(reply["seconds"])

    async def check(self, definition: str, cookie: str) -> Route:
        """Return where the workbench is, for who has this cookie."""
        reply = await self._ask("check", definition=definition, cookie=cookie)
        return Route(str(reply["address"]), int(reply["port"]), str(reply["token"]), str(reply["run"]))

    async def alive(self, cookies: Sequence[str]) -> list[bool]:
        """Return for each cookie whether what it opened may stay open."""
        reply = await self._ask("alive", cookies=list(cookies))
        return [bool(one) for one in reply["alive"]]

    async def _ask(self, what: str, **body: Any) -> dict[str, Any]:
        try:
            async with self._session.post(f"/door/{what}", json=body, allow_redirects=False) as answer:
                if answer.status in (401, 403, 404, 409):
                    # Its own secret refused would look like a login that has ended.
                    raise AccessRefused(answer.status)
                if answer.status != 200:
                    raise AccessRefused(503)
                found: dict[str, Any] = await answer.json()
                return found
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError):
            raise AccessRefused(503) from None
