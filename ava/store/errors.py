"""What the data base's errors mean to who asked: a refusal with its remedy, never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from ava.domain.problems import Problem, Refused

log = logging.getLogger(__name__)
READ_ONLY = "25006"
"""The server takes no writes: it is, or has become, a standby."""
_AGAIN = frozenset({"40001", "40P01", "23505", READ_ONLY})
"""Serialization failure, deadlock, unique violation: another transaction was faster. Looked at again, the answer is clear."""
_DUPLICATE = ("UNIQUE constraint failed", "PRIMARY KEY")


def lost_a_race(error: BaseException) -> bool:
    """Return whether a transaction that the data base has undone is worth being tried again."""
    if not isinstance(error, exc.DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    return code in _AGAIN or str(error.orig).startswith(_DUPLICATE)


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the data base into refusals."""
    try:
        yield
    except exc.StatementError as error:
        if isinstance(error.orig, Refused):
            raise error.orig from None
        raise _refused(error) from error
    except exc.TimeoutError as error:
        raise unavailable(error) from error


def unavailable(error: BaseException) -> Refused:
    """Return the refusal for a ledger that cannot be asked now.

    What exactly is wrong (addresses, accounts) concerns the log's readers, not whoever asked.
    """
    log.warning("the ledger cannot be asked: %s", str(error).strip().replace("\n", " ")[:1000])
    return Refused(
        503,
        Problem(
            "ledger-unavailable",
            "The ledger's data base does not answer.",
            "data base",
            type(error).__name__,
            "",
            "Try again; the same request made twice is carried out once.",
        ),
    )


def _refused(error: exc.StatementError) -> Refused:
    first = str(error.orig).strip().partition("\n")[0][:200]
    if isinstance(error, exc.IntegrityError):
        return Refused(
            409,
            Problem(
                "state-changed",
                "Something that this refers to was changed or removed at the same time.",
                "data base",
                first,
                "",
                "Look at what is there now and try again.",
            ),
        )
    if isinstance(error, exc.DataError) or isinstance(error.orig, OverflowError):
        return Refused(
            422,
            Problem("value-invalid", "A value cannot be kept.", "data base", first, "", "Correct the value."),
        )
    return unavailable(error.orig or error)
