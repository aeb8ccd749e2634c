"""What a form sends, read strictly: URL-encoded UTF-8, bounded, and as what the API's own models take."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, TypeAdapter, ValidationError

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http.requests import refused
from ava.schemas.validation import problems

M = TypeVar("M", bound=BaseModel)
MOST = 300
"""Fields of one form."""
SILENT = frozenset({"csrf", "key", "like", "do", "edit"})
"""Fields that are a form's own and no one's to fill in."""
_NUMBER = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,6})?$")


class Form(Mapping[str, str]):
    """A form's fields; of one that is there several times the last counts, and ``every`` has all."""

    def __init__(self, pairs: list[tuple[str, str]] | None = None) -> None:
        self._pairs = pairs or []
        self._last = dict(self._pairs)

    def __getitem__(self, name: str) -> str:
        return self._last[name]

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for key, value in self._pairs if key == name]

    def text(self, name: str) -> str:
        """Return a field without blanks around it; "" where it is not there. Line ends are one character."""
        return self.get(name, "").replace("\r\n", "\n").strip()

    def given(self, name: str) -> str | None:
        """Return a field, None where it is empty."""
        return self.text(name) or None


async def read(request: Request) -> Form:
    """Return the form of a request.

    Raises:
        ApiError: 415 for what is not sent as a form, 422 for what is no text.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if not body:
        return Form()
    if kind != "application/x-www-form-urlencoded":
        raise refused(
            "media-type",
            Phrase("This is no form."),
            "header Content-Type",
            kind or Phrase("nothing"),
            "application/x-www-form-urlencoded",
            Phrase("Use the form of the page."),
            415,
        )
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST, errors="strict")
    except ValueError:
        raise refused(
            "value-invalid",
            Phrase("The form cannot be read."),
            "body",
            Phrase("another text"),
            Phrase("URL-encoded UTF-8 of at most {most} fields", most=MOST),
            Phrase("Use the form of the page."),
            400,
        ) from None
    for name, value in pairs:
        if "\0" in value or "\0" in name:
            raise refused(
                "nul",
                Phrase("A text holds a NUL character."),
                "body",
                "\\x00",
                Phrase("text without NUL"),
                Phrase("Take it out."),
            )
    return Form(pairs)


def twice(form: Form, name: str, again: str = "again") -> None:
    """ApiError 422 where a new password was not typed twice alike."""
    if form.get(name) != form.get(again):
        raise refused(
            "passwords-differ",
            Phrase("The two passwords are not the same."),
            f"body.{again}",
            Phrase("another text"),
            Phrase("the password once more"),
            Phrase("Type it twice."),
        )


def as_model(model: type[M], data: Mapping[str, Any]) -> M:
    """Return the API's request of what a form holds; ApiError 422 with all that is wrong, as the API says it."""
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        rows = [{**e, "loc": ("body", *e["loc"])} for e in error.errors(include_url=False)]
        raise ApiError(422, *problems(rows)) from None


def one(kind: Any, value: str, name: str) -> str:
    """Return a field that has to be of one of the API's kinds of text (UserName ...); ApiError 422 else."""
    try:
        found: str = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        rows: list[Any] = [{**e, "loc": ("body", name)} for e in error.errors(include_url=False)]
        raise ApiError(422, *problems(rows)) from None
    return found


def scaled(text: str, factor: int) -> Any:
    """Return a number times a factor, whole; None where the field is empty; the text where it is none (the model says so)."""
    if not text:
        return None
    return round(float(text) * factor) if _NUMBER.match(text) else text


def whole(text: str) -> Any:
    """Return a whole number; None where it is empty; the text where it is none."""
    return None if not text else int(text) if re.match(r"^-?[0-9]{1,15}$", text) else text


def shown(form: Form, apart: set[str]) -> list[str]:
    """Return the fields of a form that may show an error; not the separate ones, whose errors stay."""
    return [name for name in form if re.fullmatch(r"[a-z_.]{1,60}", name) and name not in apart | SILENT]


def by_field(found: Sequence[Problem]) -> dict[str, list[Problem]]:
    """Return problems by the fields of a form that has the API's own names."""
    by: dict[str, list[Problem]] = {}
    for problem in found:
        by.setdefault(problem.where.removeprefix("body."), []).append(problem)
    return by


def new_key() -> str:
    """Return a key for a form that makes something: sent twice, it makes one."""
    return f"web-{secrets.token_hex(16)}"


def real(text: str) -> Any:
    """Return a number; None where the field is empty; the text where it is none."""
    return None if not text else float(text) if _NUMBER.match(text) else text


def pairs(text: str, name: str) -> dict[str, str]:
    """Return lines of ``KEY=VALUE``; ApiError 422 naming each that is none, or that is there twice."""
    found: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        key, equals, value = line.strip().partition("=")
        if not equals or not key.strip() or key.strip() in found:
            twice = key.strip() in found
            what = Phrase("A name is there twice.") if twice else Phrase("A line is not NAME=VALUE.")
            wrong.append(
                Problem(
                    "line-invalid",
                    what,
                    f"body.{name}",
                    Phrase("line {number}", number=number),
                    "NAME=VALUE",
                    Phrase("Correct it."),
                )
            )
        found[key.strip()] = value
    if wrong:
        raise ApiError(422, *wrong)
    return found
