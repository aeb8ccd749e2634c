"""The stores' answers as one: merged by time, each line once; a store that does not answer is reported and not felt."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from avadm.logs.query import Line, Query
from avadm.logs.transport import QUERY, StoreUnreachable, Transport

LIMIT = 1000
"""Lines that are returned at most by default: the newest."""
LATE_S = 20.0
"""A live view asks again for what was written within this time: lines arrive late, by up to some seconds."""
ROUND = 100_000
"""Lines that one round of a live view takes at most."""
PERIOD_S = 1.0
"""Seconds between two questions of a live view."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the stores reported.

    Attributes:
        lines: in order of time, each once.
        silent: store to the reason why it reported nothing.
        cut: whether there may be older lines that match: the limit was reached.
    """

    lines: list[Line]
    silent: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class NoStore(Exception):
    """No store has answered; the text says why each has not."""


class Client:
    """Reads logs of all stores.

    Args:
        stores: the ways to them; at least one.
        clock: seconds since 1970, for tests.
        sleep: waits seconds, for tests.
    """

    def __init__(
        self,
        stores: Sequence[Transport],
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not stores:
            raise ValueError("no store of logs is named")
        self._stores, self._clock, self._sleep = list(stores), clock, sleep

    def search(self, query: Query, limit: int = LIMIT) -> Answer:
        """Return the newest lines that match, oldest first.

        Args:
            query: which lines.
            limit: how many at most.

        Raises:
            NoStore: none of the stores has answered.
            ValueError: the query makes no sense.
        """
        params = {"query": query.text(), "limit": str(limit)}
        with ThreadPoolExecutor(max_workers=len(self._stores)) as pool:
            asked = [pool.submit(_ask, store, params) for store in self._stores]
            answers = [one.result() for one in asked]
        silent = {s.name: a for s, a in zip(self._stores, answers, strict=True) if isinstance(a, str)}
        if len(silent) == len(self._stores):
            raise NoStore("; ".join(f"{name}: {why}" for name, why in silent.items()))
        found = [a for a in answers if not isinstance(a, str)]
        lines = merged(found)
        return Answer(lines[-limit:], silent, cut=any(len(a) >= limit for a in found))

    def follow(
        self,
        query: Query,
        *,
        backlog: int = 10,
        until: Callable[[], bool] = lambda: False,
        on_silent: Callable[[dict[str, str]], None] = lambda silent: None,
    ) -> Iterator[Line]:
        """Yield lines as they come, after the last ``backlog`` ones.

        A line that arrives more than LATE_S after it was written (a node was cut off) is not shown; a search has it.
        While no store answers nothing is yielded, and it is asked again.

        Args:
            query: which lines; its ``until`` does not count.
            backlog: how many of those that are there already.
            until: asked after each round; True ends it.
            on_silent: called with store to reason whenever those that do not answer are others than before.
        """
        asked = dataclasses.replace(query, until=None)
        seen: dict[tuple[str, ...], float] = {}
        silent: dict[str, str] = {}
        # Up to when some store has answered; 0 before the first answer.
        known = 0.0
        while True:
            begun = self._clock()
            lines, now_silent = self._round(asked, known, begun, backlog)
            if now_silent.keys() != silent.keys():
                on_silent(now_silent)
            silent = now_silent
            for line, show in lines:
                if line.key not in seen:
                    seen[line.key] = begun
                    if show:
                        yield line
            if len(silent) < len(self._stores):
                known = begun
                seen = {key: at for key, at in seen.items() if begun - at < 6 * LATE_S}
            if until():
                return
            self._sleep(PERIOD_S)

    def _round(
        self, query: Query, known: float, now: float, backlog: int
    ) -> tuple[list[tuple[Line, bool]], dict[str, str]]:
        """Return lines of one round, each with whether it is shown, and which stores are silent."""
        since = max(query.since or 0.0, (known or now) - LATE_S)
        try:
            answer = self.search(dataclasses.replace(query, since=since), ROUND)
            if known:
                return [(line, True) for line in answer.lines], answer.silent
            # The first time: the last ones of all that are there, and no others that are there already.
            last = self.search(query, backlog).lines if backlog else []
        except NoStore as error:
            return [], dict.fromkeys((s.name for s in self._stores), str(error))
        return [*((line, True) for line in last), *((line, False) for line in answer.lines)], answer.silent


def merged(answers: Sequence[Sequence[Line]]) -> list[Line]:
    """Return lines of several stores in order of time, each once."""
    found: dict[tuple[str, ...], Line] = {}
    for line in (line for answer in answers for line in answer):
        found.setdefault(line.key, line)
    return sorted(found.values(), key=lambda line: (line.nanoseconds, line.host, line.id))


def _ask(store: Transport, params: dict[str, str]) -> list[Line] | str:
    """Return a store's lines, or why there are none."""
    try:
        text = store.ask(QUERY, params)
    except StoreUnreachable as error:
        return str(error)
    lines: list[Line] = []
    broken = ""
    # Lines end with a line feed alone: what users print may hold any other separator that Unicode knows.
    for row in filter(str.strip, text.split("\n")):
        try:
            lines.append(Line.of(json.loads(row)))
        except (ValueError, TypeError, AttributeError) as error:
            broken = f"the answer cannot be read: {error}"
    # A record that cannot be read never hides the others.
    return broken if broken and not lines else lines
