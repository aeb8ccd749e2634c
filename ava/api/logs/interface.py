"""What the API wants of logs; the implementations are beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

LONGEST = 64 * 1024
"""Bytes of a line; the rest of a longer one is cut."""


class LogsDown(Exception):
    """No source of logs has answered; the text says why."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; ``nanoseconds`` since 1970."""

    nanoseconds: int
    pod: str
    text: str

    @property
    def time(self) -> datetime:
        """When it was written, UTC, to the microsecond."""
        return datetime.fromtimestamp(self.nanoseconds // 1000 / 10**6, UTC)


@dataclass(frozen=True, slots=True)
class Target:
    """Whose lines are wanted. All of it is said by the ledger, nothing by who asks.

    Attributes:
        prefix: what the names of all pods of the run begin with; no other run's do.
        pods: those that are there; with ``only`` no other pod's lines are wanted.
    """

    cluster: str
    namespace: str
    prefix: str
    pods: tuple[str, ...] = ()
    only: bool = False


Pods = Callable[[], Sequence[str] | None]
"""Says which pods there are now; None: none will come any more."""


class Logs(Protocol):
    """A source of logs."""

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """Return the newest ``limit`` lines, oldest first; LogsDown."""

    def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """Yield lines as they come until there are no pods; LogsDown where none can come any more."""

    async def close(self) -> None:
        """Give connections back."""


class NoLogs:
    """Where the settings name no source."""

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """LogsDown."""
        raise LogsDown("the API's settings name no source of logs")

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """LogsDown."""
        raise LogsDown("the API's settings name no source of logs")
        yield  # it is a generator

    async def close(self) -> None:
        """Do nothing."""


def merged(lines: Iterable[LogLine], limit: int) -> list[LogLine]:
    """Return the newest lines in order, each once: two sources tell the same line with the same time."""
    kept = {(line.nanoseconds, line.pod, line.text): line for line in lines}
    return sorted(kept.values(), key=lambda line: (line.nanoseconds, line.pod))[-limit:]


def nanoseconds(text: str) -> int:
    """Return a time of RFC 3339 with up to nine decimals as nanoseconds since 1970; ValueError where it is none."""
    whole, _, rest = text.partition(".")
    if not rest:
        return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) * 10**9
    digits = len(rest) - len(rest.lstrip("0123456789"))
    zone = rest[digits:].replace("Z", "+00:00")
    return int(datetime.fromisoformat(whole + zone).timestamp()) * 10**9 + int(
        rest[:digits][:9].ljust(9, "0")
    )
