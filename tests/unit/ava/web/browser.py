"""An AVA with its web site in this process, and a browser without scripts: cookies, links, forms."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpx
from fastapi import FastAPI

from ava.api.app import frame
from ava.services.context import Context
from ava.web.app import install
from tests.unit.ava.api.site import WORD, Site


@cache
def whole() -> FastAPI:
    """Return API and site, made once: a test puts its own services into it."""
    made = frame(cast(Context, None))
    install(made)
    return made


def web_site(folder: Path, **more: Any) -> Site:
    """Return an AVA that serves both."""
    return Site(folder, frame=whole, **more)


class Browser:
    """One browser: its cookies, its language, and the page that it shows."""

    def __init__(self, site: Site, language: str = "en") -> None:
        self.site, self.language = site, language
        self.cookies: dict[str, str] = {}
        self.shown: httpx.Response | None = None

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request with this browser's cookies, and follow nothing."""
        headers = {"accept-language": self.language, **more.pop("headers", {})}
        if self.cookies:
            headers["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        self.site.http.cookies.clear()
        answer = self.site.loop.run_until_complete(
            self.site.http.request(method, path, headers=headers, **more)
        )
        for header in answer.headers.get_list("set-cookie"):
            name, _, rest = header.partition("=")
            value = rest.partition(";")[0]
            self.cookies[name] = value
            if "max-age=0" in header.lower() or value in ("", '""'):
                self.cookies.pop(name)
        return answer

    def open(self, path: str, **more: Any) -> httpx.Response:
        """Open a page, through redirections of this site."""
        answer = self.ask("GET", path, **more)
        for _ in range(5):
            if answer.status_code != 303:
                break
            answer = self.ask("GET", answer.headers["location"])
        self.shown = answer
        return answer

    def csrf(self) -> str:
        """Return the token of the forms of the page that is shown."""
        assert self.shown is not None
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.shown.text)
        assert found, self.shown.text[:2000]
        return found[1]

    def send(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        """Send a form of the page that is shown."""
        if self.shown is None:
            self.open("/login")
        return self.ask("POST", path, data={"csrf": self.csrf(), **(data or {})}, **more)

    def log_in(self, name: str) -> Browser:
        """Log in, and show the first page."""
        self.open("/login")
        answer = self.send("/login", {"name": name, "password": WORD})
        assert answer.status_code == 303, answer.text
        self.open("/")
        return self
