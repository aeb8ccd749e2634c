"""Crashes of processes that use the database, between any two of its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event


class Crash(Exception):
    """The process died, or lost its connection."""


def die() -> None:
    raise Crash


class Crasher:
    """Counts an engine's statements and strikes at one of them.

    Args:
        strike: what happens there; by default the process dies. It may instead cut the connection, after which the
            statement fails by itself.
    """

    MOMENTS = ("before", "after", "commit", "answer")
    """Before or after a statement, before the commit, or after the commit, when only the answer is lost."""

    def __init__(self, engine: Engine, strike: Callable[[], None] = die) -> None:
        self._strike = strike
        self._moment, self._left = "", -1
        self.struck = 0
        event.listen(engine, "before_cursor_execute", lambda *_: self._pass("before"))
        event.listen(engine, "after_cursor_execute", lambda *_: self._pass("after"))
        event.listen(engine, "commit", lambda *_: self._pass("commit"))

    @contextmanager
    def at(self, number: int, moment: str) -> Iterator[None]:
        """Strike at the statement of that number, from 0, if what is done has so many."""
        self._moment, self._left = moment, 0 if moment == "commit" else number
        try:
            yield
        finally:
            self._moment, self._left = "", -1
        if moment == "answer":
            self.struck += 1
            raise Crash

    def _pass(self, moment: str) -> None:
        if moment != self._moment:
            return
        self._left -= 1
        if self._left == -1:
            self._moment = ""
            self.struck += 1
            self._strike()
