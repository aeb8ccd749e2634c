"""What the database's errors mean to who asked: a refusal with its remedy, never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

log = logging.getLogger(__name__)
READ_ONLY = "25006"
"""The server takes no writes: it is, or has become, a standby."""
_AGAIN = frozenset({"40001", "40P01", "23505", READ_ONLY})
"""Serialization failure, deadlock, unique violation: another transaction was faster. Looked at again, the answer is clear."""
_DUPLICATE = ("UNIQUE constraint failed", "PRIMARY KEY")


def lost_a_race(error: BaseException) -> bool:
    """Return whether a transaction that the database has undone is worth being tried again."""
    if not isinstance(error, exc.DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    return code in _AGAIN or str(error.orig).startswith(_DUPLICATE)


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the database into refusals."""
    try:
        yield
    except exc.StatementError as error:
        if isinstance(error.orig, ApiError):
            raise error.orig from None
        raise _refused(error) from error
    except exc.TimeoutError as error:
        raise unavailable(error) from error


def unavailable(error: BaseException) -> ApiError:
    """Return the refusal for a database that cannot be asked now.

    What exactly is wrong (addresses, accounts) concerns the log's readers, not anyone who asked.
    """
    log.warning("the database cannot be asked: %s", str(error).strip().replace("\n", " ")[:1000])
    return ApiError(
        503,
        Problem(
            "database-unavailable",
            Phrase("The database does not answer."),
            "database",
            type(error).__name__,
            "",
            Phrase("Try again; the same request made twice is carried out once."),
        ),
    )


def _refused(error: exc.StatementError) -> ApiError:
    first = str(error.orig).strip().partition("\n")[0][:200]
    if isinstance(error, exc.IntegrityError):
        return ApiError(
            409,
            Problem(
                "state-changed",
                Phrase("Something that this refers to was changed or removed at the same time."),
                "database",
                first,
                "",
                Phrase("Look at what is there now and try again."),
            ),
        )
    if isinstance(error, exc.DataError) or isinstance(error.orig, OverflowError):
        return ApiError(
            422,
            Problem(
                "value-invalid",
                Phrase("A value cannot be kept."),
                "database",
                first,
                "",
                Phrase("Correct the value."),
            ),
        )
    return unavailable(error.orig or error)
