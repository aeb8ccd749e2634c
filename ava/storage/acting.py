"""What the one does who leads: messages of the ledger in order, and a look at all folders again and again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from ava.domain.folders import FolderKind
from ava.domain.model import Message, Topic
from ava.domain.problems import Refused
from ava.kube.errors import Fenced
from ava.storage import tree
from ava.storage.ground import NotOurs
from ava.storage.making import Maker
from ava.storage.metrics import Metrics
from ava.store.interface import Store

log = logging.getLogger(__name__)
KINDS = {
    "user-changed": FolderKind.USER,
    "group-changed": FolderKind.GROUP,
    "data-set-changed": FolderKind.DATA_SET,
}
PART = "storage"
"""Name under which signs of life are kept."""


class Acting:
    """One leadership. It works in a thread, since nothing of a file system is asynchronous.

    Args:
        lead: returns while this process leads, raises Fenced after; asked before each folder.
        beside: what else is done at each pass (uploads that nobody goes on with).
    """

    def __init__(
        self,
        store: Store,
        maker: Maker,
        metrics: Metrics,
        *,
        lead: Callable[[], object],
        now: Callable[[], datetime],
        every: float = 60.0,
        poll: float = 5.0,
        beside: Callable[[], None] = lambda: None,
    ) -> None:
        self.store, self.maker, self.metrics, self.now = store, maker, metrics, now
        self.lead, self.every, self.poll, self.beside = lead, every, poll, beside
        self.stopped = threading.Event()
        self.trouble = ""
        """What keeps it from doing anything, for whoever looks after it."""

    def run(self) -> None:
        """Work until stopped or until the lead is lost."""
        due = 0.0
        with suppress(Fenced):
            while not self.stopped.is_set():
                self.lead()
                try:
                    self.maker.ground.found()
                    if time.monotonic() >= due:
                        self.look_at_all()
                        due = time.monotonic() + self.every
                    self.take()
                    self.trouble = ""
                except (OSError, Refused, NotOurs) as error:
                    self._failed(str(error))
                else:
                    self.store.wait(Topic.STORAGE, self.poll)

    def take(self) -> None:
        """Carry out what is open; what fails stays open and comes again."""
        for message in self.store.open_messages(Topic.STORAGE, 100):
            self.lead()
            if self._done(message):
                self.store.done([message.seq], self.now())

    def look_at_all(self) -> None:
        """Bring every folder to what it has to be, and measure it."""
        began, troubles = time.monotonic(), 0
        for wanted in self.store.wanted_folders():
            self.lead()
            try:
                seen = self.maker.remove(wanted) if wanted.gone else self.maker.make(wanted)
            except tree.Foreign as foreign:
                log.warning("%s %s: %s", wanted.kind.value, wanted.name, foreign)
                troubles += 1
                continue
            troubles += bool(seen.trouble)
        self.beside()
        self.metrics.troubles.set(troubles)
        self.metrics.look.set(time.monotonic() - began)
        self.store.alive(PART, self.now(), {"troubles": troubles})

    def _done(self, message: Message) -> bool:
        kind = KINDS.get(message.kind)
        if kind is None:
            return True
        try:
            self.maker.look(kind, message.object)
        except tree.Foreign as foreign:
            log.warning("%s %s: %s", kind.value, message.object, foreign)
        return True

    def _failed(self, what: str) -> None:
        if what != self.trouble:
            log.error("%s", what)
        self.trouble = what
        self.metrics.errors.inc()
        self.stopped.wait(self.poll)
