"""Requests as they are read: JSON by orjson, nothing unknown, nothing that a database or a log cannot hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar, cast

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.validation import shown

DEEPEST = 32
"""Levels of a document; a definition has five."""
_NO_BODY = ("GET", "HEAD", "DELETE")


def refused(
    code: str, what: str, where: str, found: str, wanted: str, remedy: str, status: int = 422
) -> ApiError:
    """Return a refusal with one problem."""
    return ApiError(status, Problem(code, what, where, found, wanted, remedy))


class RefusedBody(HTTPException):
    """A refusal that the frame lets through while it reads a body, where it takes all else for a broken one."""

    def __init__(self, refusal: ApiError) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """Return the body; JSONDecodeError where it is none, RefusedBody where it holds what cannot be kept."""
        try:
            data = orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            # Neither the document nor its beginning goes along: it may hold a password.
            raise json.JSONDecodeError(error.msg, "", 0) from None
        try:
            for where, text in _texts(data):
                _clean(text, where)
        except ApiError as refusal:
            raise RefusedBody(refusal) from None
        return data


def _texts(data: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of a document with its place; ApiError where it is too deep."""
    todo: list[tuple[str, Any, int]] = [("body", data, 0)]
    while todo:
        where, value, depth = todo.pop()
        if depth > DEEPEST:
            raise refused(
                "too-deep",
                Phrase("The document is nested too deep."),
                "body",
                Phrase("more than {most} levels", most=DEEPEST),
                Phrase("at most {most}", most=DEEPEST),
                Phrase("Flatten it."),
            )
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield where, key
                todo.append((f"{where}.{shown(key)}", inner, depth + 1))
        elif isinstance(value, list):
            todo += [(f"{where}[{i}]", inner, depth + 1) for i, inner in enumerate(value)]


def _clean(text: str, where: str) -> None:
    if "\0" in text:
        raise refused(
            "nul",
            Phrase("A text holds a NUL character."),
            where,
            "\\x00",
            Phrase("text without NUL"),
            Phrase("Take it out."),
        )


F = TypeVar("F", bound=Callable[..., Any])


def any_query(endpoint: F) -> F:
    """Mark an endpoint whose query others make: fields that it does not know are ignored."""
    endpoint.any_query = True  # type: ignore[attr-defined]
    return endpoint


class StrictRoute(APIRoute):
    """Refuses query fields that are unknown or there twice, bodies where none is wanted or that are not JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with these checks before it."""
        inner = super().get_route_handler()
        known, open_ = self._known(), getattr(self.endpoint, "any_query", False)

        async def handle(request: Request) -> Response:
            _query(request, known, open_=open_)
            for name, value in request.path_params.items():
                if not str(value).isprintable():
                    raise refused(
                        "name-invalid",
                        Phrase("A name holds a control character."),
                        f"path.{name}",
                        shown(value),
                        Phrase("a plain name"),
                        Phrase("Take it out."),
                    )
            if self.body_field is not None and request.method not in _NO_BODY:
                _media_type(request)
            return await inner(StrictRequest(request.scope, request.receive))

        return handle

    def _known(self) -> frozenset[str]:
        names: set[str] = set()
        for field in self.dependant.query_params:
            annotation = cast(Any, field.field_info.annotation)
            fields = getattr(annotation, "model_fields", None)
            names |= {f.alias or n for n, f in fields.items()} if fields else {field.alias}
        return frozenset(names)


def _query(request: Request, known: frozenset[str], *, open_: bool) -> None:
    given = [key for key, _ in request.query_params.multi_items()]
    wrong = [
        Problem(
            "field-unknown",
            Phrase("There is no such query field."),
            f"query.{shown(k)}",
            shown(k),
            ", ".join(sorted(known)) or Phrase("none"),
            Phrase("Leave it out."),
        )
        for k in dict.fromkeys(given)
        if k not in known and not open_
    ] + [
        Problem(
            "field-twice",
            Phrase("A query field is there more than once."),
            f"query.{k}",
            Phrase("{count} times", count=given.count(k)),
            Phrase("once"),
            Phrase("Say it once."),
        )
        for k in known
        if given.count(k) > 1
    ]
    if wrong:
        raise ApiError(422, *wrong)
    for key, value in request.query_params.multi_items():
        if key not in known:
            continue
        _clean(value, f"query.{key}")
        if "\ufffd" in value:
            raise refused(
                "value-invalid",
                Phrase("A query field is not UTF-8."),
                f"query.{key}",
                shown(value),
                "UTF-8",
                Phrase("Encode it so."),
            )


def _media_type(request: Request) -> None:
    """Refuse what is not called JSON: a form of another site could send text/plain without asking first (CSRF)."""
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise refused(
            "media-type",
            Phrase("The body is not called JSON."),
            "header Content-Type",
            shown(kind or None),
            "application/json",
            Phrase("Send JSON and say so."),
            415,
        )
