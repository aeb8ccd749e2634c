"""Waiting for messages: LISTEN on PostgreSQL, looking again and again on SQLite."""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol, cast

import psycopg
from sqlalchemy import Engine, func, select

from ava.db.errors import translated, unavailable
from ava.db.tables import messages
from ava.domain.model import Topic

POLL = 0.05
"""Seconds between two looks at SQLite."""
SLICE = 1.0
"""Seconds after which who waits looks whether the database was closed."""


class Waiter(Protocol):
    """Waits for messages of one topic."""

    def wait(self, seconds: float) -> bool:
        """Return whether a message may be there, at the latest when the time is over."""

    def close(self) -> None:
        """Give its connection back."""


def waiter(engine: Engine, topic: Topic) -> Waiter:
    """Return what waits for a topic on this database."""
    return Listener(engine, topic) if engine.dialect.name == "postgresql" else Poller(engine, topic)


def channel(topic: Topic) -> str:
    """Return the channel that the messages' trigger notifies."""
    return f"ava_{topic.value}"


class Listener:
    """One connection of its own, listening; threads that wait for one topic take turns."""

    def __init__(self, engine: Engine, topic: Topic) -> None:
        self._engine = engine
        self._topic = topic
        self._turn = threading.Lock()
        self._closed = False
        self._listening: psycopg.Connection[Any] | None = None

    def wait(self, seconds: float) -> bool:
        """Return whether something was reported; also after the connection was lost, for then something may be missed."""
        end = time.monotonic() + seconds
        if not self._turn.acquire(timeout=max(seconds, 0)):
            return False
        try:
            if self._listening is None:
                self._listening = self._listen()
                return True
            return self._received(self._listening, end)
        except psycopg.Error as error:
            if not self._drop():
                raise unavailable(error) from error
            return True
        finally:
            self._turn.release()

    def close(self) -> None:
        """Give the connection back, at the latest a second after somebody waited for it."""
        self._closed = True
        with self._turn:
            self._drop()

    def _received(self, listening: psycopg.Connection[Any], end: float) -> bool:
        while not self._closed:
            left = max(end - time.monotonic(), 0)
            for _ in listening.notifies(timeout=min(left, SLICE), stop_after=1):
                return True
            if left <= SLICE:
                break
        return False

    def _listen(self) -> psycopg.Connection[Any]:
        with translated():
            pooled = self._engine.raw_connection()
        driver: Any = pooled.dbapi_connection
        pooled.detach()
        driver.autocommit = True
        driver.execute(f"LISTEN {channel(self._topic)}")
        return cast("psycopg.Connection[Any]", driver)

    def _drop(self) -> bool:
        """Close the connection; return whether there was one."""
        listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()
        return listening is not None


class Poller:
    """Looks for a message that is newer than the newest at the last look."""

    def __init__(self, engine: Engine, topic: Topic) -> None:
        self._engine = engine
        self._query = select(func.max(messages.c.seq)).where(
            messages.c.topic == topic, messages.c.done.is_(None)
        )
        self._newest = 0

    def wait(self, seconds: float) -> bool:
        """Return whether a new message is there."""
        end = time.monotonic() + seconds
        while True:
            with translated(), self._engine.begin() as connection:
                newest = connection.execute(self._query).scalar() or 0
            if newest > self._newest:
                self._newest = newest
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(POLL, left))

    def close(self) -> None:
        """Nothing is held."""
