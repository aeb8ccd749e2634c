"""The bytes of websocket messages that the gate holds: unfinished ones, and those that their receiver does not take."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)


class Budget:
    """Bounds the bytes that all websockets hold together.

    Where they are more than ``most``, the socket that holds most is cut, and so the one that fills the memory and not those
    of others.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.cut = 0
        self._meters: set[Meter] = set()

    @property
    def held(self) -> int:
        """Return the bytes that are held now."""
        return sum(meter.held for meter in self._meters)

    def meter(self, protocol: Any, cut: Callable[[], None]) -> Meter:
        """Count what one side of a websocket is sent.

        Args:
            protocol: aiohttp's, which has a parser of messages by now.
            cut: ends the websocket.
        """
        made = Meter(self, protocol._payload_parser, cut)
        # aiohttp gives no access to unfinished messages; its parser is asked through this one.
        protocol._payload_parser = made
        self._meters.add(made)
        return made

    def forget(self, meter: Meter) -> None:
        """Count a websocket no more."""
        self._meters.discard(meter)

    def check(self) -> None:
        """Cut the largest while too much is held."""
        while self._meters and self.held > self.most:
            largest = max(self._meters, key=lambda meter: meter.held)
            log.warning("a websocket is cut: it holds %d bytes of messages, all %d", largest.held, self.held)
            self.forget(largest)
            self.cut += 1
            largest.cut()


class Meter:
    """Stands between a connection and its parser of websocket messages, and counts."""

    def __init__(self, budget: Budget, parser: Any, cut: Callable[[], None]) -> None:
        self.cut = cut
        self.held = 0
        self._budget, self._parser = budget, parser
        self._fed = 0

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes from the connection."""
        self._fed += len(data)
        self.held += len(data)
        self._budget.check()
        fed: tuple[bool, bytes] = self._parser.feed_data(data)
        return fed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def mark(self) -> int:
        """Return a mark for `passed`: a message is complete."""
        return self._fed

    def passed(self, mark: int) -> None:
        """Note that the message has been sent on: what came after it is all that is held."""
        self.held = self._fed - mark
