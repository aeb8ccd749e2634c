"""Every error is a problem document (RFC 9457) that names all that is wrong: code, what, where, found, wanted, remedy."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http.requests import RefusedBody
from ava.schemas import validation
from ava.schemas.encoding import encode
from ava.services.auth.rate_limits import RateLimited

log = logging.getLogger("ava.api")
MEDIA_TYPE = "application/problem+json"
SHOWN = 50
"""Problems of one answer at most; the rest are counted."""
_ANSWERED = {
    404: (
        "not-found",
        Phrase("There is nothing at this address."),
        "an address of the OpenAPI document",
        Phrase("Look it up there."),
    ),
    405: (
        "method-not-allowed",
        Phrase("This address does not know this method."),
        "a method of the OpenAPI document",
        "",
    ),
    413: (
        "too-large",
        Phrase("The request is too large."),
        Phrase("at most {most}", most="1 MiB"),
        Phrase("Send less; data belongs into a data set."),
    ),
}
_FILL = {
    "not-found": (
        Phrase("nothing"),
        Phrase("what is there and may be seen by you"),
        Phrase("Look at the list that it would be in."),
    ),
    "database-unavailable": (
        Phrase("no answer"),
        "a database that answers",
        Phrase("Try again in some seconds."),
    ),
}
"""What a problem's found, wanted and remedy are where it does not say so itself."""
_REMEDY = Phrase("Correct this and send the request again.")


def response(
    status: int,
    problems: Sequence[Problem],
    *,
    where: str,
    headers: Mapping[str, str] | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Response:
    """Return the document, with further fields. What a problem leaves empty is filled with what holds for every one."""
    whole = [_whole(p, where) for p in problems[:SHOWN]]
    more = len(problems) - len(whole)
    body = {
        "type": f"urn:ava:problem:{whole[0].code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": " ".join(p.what for p in whole[:5]) + (f" And {more} more." if more > 0 else ""),
        "problems": [p.as_dict() for p in whole],
        **(fields or {}),
    }
    return Response(encode(body), status, dict(headers or {}), MEDIA_TYPE)


def _whole(problem: Problem, where: str) -> Problem:
    """Return a problem whose every field says something."""
    code = problem.code
    found, wanted, remedy = _FILL.get(code, (Phrase("as sent"), "what the OpenAPI document says", _REMEDY))
    return replace(
        problem,
        where=problem.where or where,
        found=problem.found or found,
        wanted=problem.wanted or wanted,
        remedy=problem.remedy or remedy,
    )


def of_refusal(refused: ApiError, where: str, fields: Mapping[str, Any] | None = None) -> Response:
    """Return what a refusal answers, with further fields."""
    headers: dict[str, str] = {}
    if isinstance(refused, RateLimited):
        headers["retry-after"] = str(refused.seconds)
    if refused.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = 'Bearer realm="ava"'
    if refused.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = "2"
    return response(refused.status, public(refused, where), where=where, headers=headers, fields=fields)


def public(refused: ApiError, where: str) -> list[Problem]:
    """Return the body of an error response, with each problem in full."""
    found = [replace(p, found="") if p.where == "database" else p for p in refused.problems]
    for hidden in (p for p in refused.problems if p.where == "database"):
        # The database's own words name its address and its tables: they are for the log.
        log.warning("%s: %s", hidden.code, hidden.found)
    return [_whole(p, where) for p in found]


def of_http(status: int, where: str, found: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return what an error of the frame answers: no such address, no such method, too large, not to be read."""
    return response(status, [http_problem(status, where, found)], where=where, headers=headers)


def http_problem(status: int, where: str, found: str) -> Problem:
    """Return an error of the frame as a problem."""
    code, what, wanted, remedy = _ANSWERED.get(
        status,
        (
            "bad-request",
            Phrase("The request cannot be read."),
            "a request as HTTP and the OpenAPI document have it",
            "",
        ),
    )
    return _whole(Problem(code, what, where, found, wanted, remedy), where)


def internal(where: str, request_id: str) -> Response:
    """Return the answer to an error of ours; the log has its cause under the id."""
    return response(500, [mistake(where, request_id)], where=where)


def mistake(where: str, request_id: str) -> Problem:
    """Return an error of ours as a problem."""
    return Problem(
        "internal",
        Phrase("Internal server error."),
        where,
        Phrase("request {id}", id=request_id),
        Phrase("an answer"),
        Phrase("Tell an administrator the request's id; the log of the API has the cause under it."),
    )


def install(app: FastAPI) -> None:
    """Let the application answer every error so."""

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)  # noqa: S101  registered for it alone
        return of_refusal(error, request.url.path)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        found = validation.problems(error.errors())
        status = 400 if any(p.code == "json-invalid" for p in found) else 422
        return response(status, found, where=request.url.path)

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if isinstance(error, RefusedBody):
            return of_refusal(error.refusal, request.url.path)
        headers: Any = error.headers
        return of_http(error.status_code, request.url.path, request.method, headers)

    def broken(request: Request, error: Exception) -> Response:
        return internal(request.url.path, str(getattr(request.state, "request_id", "unknown")))

    app.add_exception_handler(Exception, broken)
    app.add_exception_handler(ApiError, refused)
    app.add_exception_handler(RateLimited, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
