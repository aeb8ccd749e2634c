"""Column types that refuse, before the database sees it, what it could not keep or would keep as something else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Integer, String, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from ava.domain.amounts import UNLIMITED
from ava.domain.names import shown
from ava.domain.phrases import Phrase, as_document
from ava.domain.problems import ApiError, Problem

SERIAL = BigInteger().with_variant(Integer, "sqlite")
"""A number that the database gives; SQLite counts only what it calls INTEGER."""
DOCUMENT_BYTES = 2**20


def plain(text: str, limit: int = 4096) -> str:
    """Return what somebody else wrote (a pod's last words, a name that was tried) as it can be kept: cut, without NUL."""
    clean = text[:limit].replace("\0", "\N{REPLACEMENT CHARACTER}")
    kept = clean.encode("utf-8", "replace").decode("utf-8")
    return text if kept == text else kept


def phrased(column: str, text: str, limit: int = 4096) -> dict[str, Any]:
    """Return the values of a text's two columns: its English as it can be kept, and what makes the phrase that it is."""
    kept = plain(text, limit)
    return {column: kept, f"{column}_phrase": as_document(kept)}


def plain_document(value: Any, limit: int = 4096, size: int = 2**16) -> Any:
    """Return a document of somebody else's as it can be kept: its texts plain, and what is too long or deep left out.

    Args:
        value: anything.
        limit: characters of one text.
        size: bytes of all of it.
    """
    try:
        clean = _plain(value, limit)
        length = len(json.dumps(clean, allow_nan=False))
    except RecursionError:
        return {"left_out": "nested too deeply"}
    return clean if length <= size else {"left_out": f"{length} bytes"}


def _plain(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return plain(value, limit)
    if isinstance(value, Mapping):
        return {plain(str(k), 200): _plain(v, limit) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, limit) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | None) else plain(str(value), limit)


def _refuse(code: str, what: str, found: str, wanted: str) -> ApiError:
    return ApiError(422, Problem(code, what, "", found, wanted, Phrase("Correct the value.")))


class ShortText(TypeDecorator[str]):
    """A text of limited length, compared byte by byte (not as a language sorts)."""

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """Return the database's own type."""
        collation = "C" if dialect.name == "postgresql" else None
        return dialect.type_descriptor(String(self.length, collation=collation))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what is too long or no text."""
        if value is None:
            return None
        _check_text(value)
        if len(value) > self.length:
            raise _refuse(
                "text-too-long",
                Phrase("A text is too long."),
                shown(value),
                f"{self.length} characters at most",
            )
        return str(value)


class LongText(TypeDecorator[str]):
    """A text of any length up to a mebibyte."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what is too long or no text."""
        if value is None:
            return None
        _check_text(value)
        if len(value) > DOCUMENT_BYTES:
            raise _refuse(
                "text-too-long",
                Phrase("A text is too long."),
                shown(value),
                f"{DOCUMENT_BYTES} characters at most",
            )
        return str(value)


class UtcDateTime(TypeDecorator[datetime]):
    """A time; kept and given back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without zone: it is ambiguous."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise _refuse(
                "time-without-zone",
                Phrase("A time has no zone."),
                value.isoformat(),
                "a time with its zone, as UTC",
            )
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class UnsignedBigInt(TypeDecorator[int]):
    """An integer that is not negative."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        """Refuse what is negative or more than the database counts."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= UNLIMITED:
            raise _refuse(
                "number-invalid",
                Phrase("A number is out of range."),
                repr(value)[:40],
                f"an integer from 0 to {UNLIMITED}",
            )
        return value


class JsonDocument(TypeDecorator[Any]):
    """Plain JSON up to a mebibyte."""

    impl = JSON().with_variant(JSONB(), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Refuse what is no JSON, or what PostgreSQL cannot keep: NUL, halves of characters, what is no number."""
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = dict(value)
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False)
            size = len(text.encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise _refuse(
                "document-invalid",
                Phrase("This is no JSON that can be kept."),
                str(error)[:80],
                "plain JSON in UTF-8",
            ) from error
        if "\\u0000" in text and _has_nul(value):
            raise _refuse(
                "document-invalid", Phrase("A text has a NUL character."), r"\u0000", "texts without NUL"
            )
        if size > DOCUMENT_BYTES:
            raise _refuse(
                "document-too-large",
                Phrase("The document is too large."),
                Phrase("{size} bytes", size=size),
                Phrase("{size} bytes", size=DOCUMENT_BYTES),
            )
        return value


def _check_text(value: object) -> None:
    if not isinstance(value, str):
        raise _refuse("text-invalid", Phrase("This is no text."), repr(value)[:40], "a text")
    if "\0" in value:
        raise _refuse(
            "text-invalid", Phrase("A text has a NUL character."), shown(value), "a text without NUL"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refuse(
            "text-invalid", Phrase("A text is no Unicode."), shown(value), "a text in UTF-8"
        ) from error


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(k) or _has_nul(v) for k, v in value.items())
    return isinstance(value, list | tuple) and any(_has_nul(v) for v in value)
