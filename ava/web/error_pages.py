"""Errors as pages: every problem in words with what to do; who is not logged in is shown the login."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http import errors
from ava.http.dependencies import address_of, context_of
from ava.schemas import validation
from ava.services.auth.caller import Caller
from ava.services.auth.rate_limits import RateLimited
from ava.web import i18n
from ava.web.request import HEADERS, PageRequest, look

API = "/api/"
PEOPLE = "/api/v1/oidc/"
"""Addresses of the API that people come to with a browser, by redirections: what is wrong there is a page for them too."""
Handler = Callable[[Request, Exception], Any]


def install(app: FastAPI) -> None:
    """Answer errors outside of the API with pages; inside of it nothing changes, but where people are sent to."""
    for kind in (Exception, ApiError, RateLimited, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _either(app.exception_handlers[kind]))


def _either(before: Handler) -> Handler:
    def handle(request: Request, error: Exception) -> Any:
        if request.url.path.startswith(API) and not _person(request):
            return before(request, error)
        return _page(request, error)

    return handle


def _person(request: Request) -> bool:
    """Return whether somebody looks at the answer who was sent here by a page."""
    return request.url.path.startswith(PEOPLE) and "text/html" in request.headers.get("accept", "")


def _page(request: Request, error: Exception) -> Response:
    status, found, headers = describe(request, error)
    visit = _visit(request)
    if _person(request):
        provider = f"{PEOPLE}login" if visit.context.provider else ""
        return visit.page("login.html", status, problems=found, next="/", values={}, provider=provider)
    if status == 401:
        return visit.go("/login", next=_back(request))
    template = "problem_part.html" if visit.partial else "problem.html"
    answer = visit.page(template, status, problems=found)
    for name, value in headers.items():
        answer.headers[name] = value
    return answer


def describe(request: Request, error: Exception) -> tuple[int, Sequence[Problem], dict[str, str]]:
    """Return status, problems and headers of an error, as the API tells it."""
    if isinstance(error, ApiError):
        headers = {"retry-after": str(error.seconds)} if isinstance(error, RateLimited) else {}
        return error.status, errors.public(error, request.url.path), headers
    if isinstance(error, RequestValidationError):
        return 422, validation.problems(error.errors()), {}
    if isinstance(error, HTTPException):
        found = errors.http_problem(error.status_code, request.url.path, request.method)
        if error.status_code == 404:
            # The OpenAPI document is for programs.
            whole = Phrase("Choose a page of the menu, or look whether the address is whole.")
            found = replace(found, found="", wanted="", remedy=whole)
        return error.status_code, [found], {}
    return 500, [errors.mistake(request.url.path, str(getattr(request.state, "request_id", "unknown")))], {}


def _visit(request: Request) -> PageRequest:
    known: PageRequest | None = getattr(request.state, "visit", None)
    if known is not None:
        return known
    try:
        return look(request)
    except Exception:
        # The database is away: the page says so without knowing who asks.
        return look_blindly(request)


def look_blindly(request: Request) -> PageRequest:
    """Return the request as no one's, without asking the database."""
    language = i18n.chosen(request.cookies.get(i18n.COOKIE), request.headers.get("accept-language", ""))
    caller = Caller(address_of(request))
    return PageRequest(request, context_of(request), caller, i18n.Translator(language))


def _back(request: Request) -> str | None:
    """Return where a login leads: the page that was asked for, none after a change."""
    if request.method != "GET" or request.url.path in ("/", "/login"):
        return None
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


__all__ = ["HEADERS", "describe", "install"]
