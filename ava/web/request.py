"""One request of a browser: who, in which language, with which form; and what it is answered with.

Who it is tells the API's own session cookie. Whatever changes something carries the CSRF token of that session, or, before
there is one, of a cookie that only says that the form came from here; and browsers say themselves where a request begins.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http.cookies import SESSION
from ava.http.dependencies import CSRF, SAFE, address_of, context_of
from ava.services.auth.authentication import by_session
from ava.services.auth.caller import Caller, csrf, new_secret
from ava.services.auth.permissions import unauthenticated
from ava.services.context import Context
from ava.web import forms, i18n, labels, render

FORM_COOKIE = "__Host-ava-form"
"""Of who is not logged in: a random number, so that no one logs others in from elsewhere."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
}
"""Of every page; the rest is the Guard's. No script stands in a page, and no style."""
_BENCH = re.compile(r"^/api/v1/workbenches/[a-z0-9]{1,40}/open\?state=[0-9a-f]{64}$")
"""The one address beside pages that a login leads to: it sends a workbench's owner there, and no other user."""
_LOCAL = re.compile(r"^/(?![/\\])[\x21-\x5b\x5d-\x7e]*$")


@dataclass(slots=True)
class PageRequest:
    """A request.

    Attributes:
        fresh: the secret of a form cookie that is yet to be set.
    """

    request: Request
    context: Context
    caller: Caller
    words: i18n.Translator
    form: forms.Form = field(default_factory=forms.Form)
    csrf: str = ""
    fresh: str = ""

    def headers(self) -> dict[str, str]:
        """Return the headers of a page; a login may lead into a workbench, which has an origin of its own."""
        benches = self.context.config.workbenches
        if benches is None:
            return dict(HEADERS)
        policy = HEADERS["content-security-policy"].replace(
            "form-action 'self'", f"form-action 'self' https://*.{benches.below}"
        )
        return {**HEADERS, "content-security-policy": policy}

    @property
    def partial(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.request.headers

    def page(
        self, template: str, status: int = 200, *, refused: ApiError | None = None, **data: Any
    ) -> Response:
        """Return a page; one that tells of a refusal has its status and its problems."""
        if refused is not None:
            status = refused.status
            data = {"errors": forms.by_field(refused.problems)} | data | {"problems": refused.problems}
        text = render.page(self.words, template, self.context.clock(), self._common() | data)
        answer = HTMLResponse(text, status, self.headers())
        if self.fresh:
            answer.set_cookie(
                FORM_COOKIE, self.fresh, path="/", secure=True, httponly=True, samesite="lax", max_age=86400
            )
        return answer

    def _common(self) -> dict[str, Any]:
        """Return what templates of all pages show."""
        url = self.request.url
        return {
            "me": self.caller.user,
            "csrf": self.csrf,
            "path": url.path,
            "here": url.path + (f"?{url.query}" if url.query else ""),
            "posted": self.request.method != "GET",
            "done": labels.DONE.get(self.request.query_params.get("done", ""), ""),
            "registration": self.context.config.form_open,
        }

    def changed(
        self, change: Callable[[], object], again: Callable[[ApiError], Response], path: str, done: str
    ) -> Response:
        """Make a change and lead to the page that shows it; where it is refused, its own page says so.

        Not where there is no such page for who asks (403, 404): the refusal continues.
        """
        try:
            change()
        except ApiError as refused:
            if refused.status in (403, 404):
                raise
            return again(refused)
        return self.go(path, done=done)

    def go(self, path: str, **query: str | None) -> Response:
        """Return the way to another page of this site; ``done`` is what that page says was done."""
        given = {k: v for k, v in query.items() if v}
        where = local(path) + ((("&" if "?" in path else "?") + urlencode(given)) if given else "")
        if self.partial:
            return Response(None, 204, {**HEADERS, "hx-redirect": where})
        return RedirectResponse(where, 303, dict(HEADERS))


def local(path: str | None) -> str:
    """Return a path of this site's pages; the first page where it is anything else: no one is sent away from here."""
    if path is not None and _BENCH.match(path):
        return path
    if path is None or len(path) > 2000 or not _LOCAL.match(path):
        return "/"
    parts = urlsplit(path)
    return "/" if parts.scheme or parts.netloc or parts.path.startswith("/api/") else path


async def visit(request: Request) -> PageRequest:
    """Return the request; ApiError 403 for a change that does not come from a page of this site."""
    form = await forms.read(request) if request.method not in SAFE else forms.Form()
    found = await run_in_threadpool(look, request)
    found.form = form
    request.state.visit = found
    if request.method not in SAFE:
        _own(request, form, found)
    return found


def look(request: Request) -> PageRequest:
    """Return who asks and in which language, without a form."""
    context = context_of(request)
    language = i18n.chosen(request.cookies.get(i18n.COOKIE), request.headers.get("accept-language", ""))
    caller = by_session(context, request.cookies.get(SESSION), address_of(request))
    found = PageRequest(request, context, caller, i18n.Translator(language))
    if caller.user is not None:
        found.csrf = caller.csrf
    else:
        secret = request.cookies.get(FORM_COOKIE, "")
        if not re.match(r"^[A-Za-z0-9_-]{43}$", secret):
            secret = found.fresh = new_secret()
        found.csrf = csrf(secret)
    return found


def _own(request: Request, form: forms.Form, found: PageRequest) -> None:
    given = form.get("csrf") or request.headers.get(CSRF, "")
    begun = request.headers.get("sec-fetch-site", "same-origin")
    if begun in ("same-origin", "none") and hmac.compare_digest(given.encode(), found.csrf.encode()):
        return
    raise ApiError(
        403,
        Problem(
            "csrf",
            Phrase("The change does not come from AVA's own page, or that page is old."),
            "form",
            "another or no token" if begun in ("same-origin", "none") else begun,
            Phrase("the form of a page of this login"),
            Phrase("Open the page again and repeat what you did."),
        ),
    )


def someone(found: Annotated[PageRequest, Depends(visit)]) -> PageRequest:
    """Return the request of who is logged in; ApiError 401 without a login."""
    if found.caller.user is None:
        raise unauthenticated()
    return found


AnyVisit = Annotated[PageRequest, Depends(visit)]
Someone = Annotated[PageRequest, Depends(someone)]
