"""What the API wants of logs; the implementations are beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

LONGEST = 64 * 1024
"""Bytes of a line; the rest of a longer one is cut."""
RECORD = 16 * 1024
"""Bytes of a line that docker writes as one record; a longer one is several, each with a time of its own."""
_NONE = "the API's settings name no source of logs"


class LogBackendUnavailable(Exception):
    """No source of logs has answered; the text says why."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line.

    Attributes:
        nanoseconds: since 1970; of a line of several records those of the last one, of a line that was cut of the first one.
        parts: the times of all its records, where it has several.
    """

    nanoseconds: int
    pod: str
    text: str
    parts: tuple[int, ...] = field(default=(), compare=False)

    @property
    def time(self) -> datetime:
        """When it was written, UTC, to the microsecond."""
        return datetime.fromtimestamp(self.nanoseconds // 1000 / 10**6, UTC)


@dataclass(frozen=True, slots=True)
class Target:
    """Whose lines are wanted. All of it comes from the database, nothing from the request.

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
        """Return the newest ``limit`` lines, oldest first; LogBackendUnavailable."""

    def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """Yield lines as they come until there are no pods; LogBackendUnavailable where none can come any more."""

    async def close(self) -> None:
        """Give connections back."""


class NoLogs:
    """Where the settings name no source: the site keeps no logs."""

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """LogBackendUnavailable."""
        raise LogBackendUnavailable(_NONE)

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """LogBackendUnavailable."""
        raise LogBackendUnavailable(_NONE)
        yield  # it is a generator

    async def close(self) -> None:
        """Do nothing."""


def merged(lines: Iterable[LogLine], limit: int) -> list[LogLine]:
    """Return the newest lines in order, each once: two sources tell the same line with the same time.

    A source that began in the middle of a long line, or did not wait for its end, tells a part of it: that gives way.
    """
    kept = {(line.nanoseconds, line.pod, line.text): line for line in lines}
    longest: dict[tuple[int, str], str] = {}
    inside: set[tuple[int, str]] = set()
    for line in kept.values():
        key = (line.nanoseconds, line.pod)
        longest[key] = max(longest.get(key, ""), line.text, key=len)
        inside |= {(part, line.pod) for part in line.parts if part != line.nanoseconds}

    def part(line: LogLine) -> bool:
        key = (line.nanoseconds, line.pod)
        whole = longest[key]
        return key in inside or (RECORD <= len(whole) > len(line.text) and whole.endswith(line.text))

    found = [line for line in kept.values() if not part(line)]
    return sorted(found, key=lambda line: (line.nanoseconds, line.pod))[-limit:]


def cut(text: bytes) -> str:
    """Return a line's text; a longer one than LONGEST ends there, between two characters."""
    if len(text) <= LONGEST:
        return text.decode("utf-8", "replace")
    end = LONGEST
    while end > LONGEST - 4 and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[:end].decode("utf-8", "replace")


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
