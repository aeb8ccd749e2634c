"""What the one does who leads: messages of the database in order, and a look at all folders again and again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial

from ava.db.database import Database
from ava.domain.data_sets import FolderSpec
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Message, Topic
from ava.domain.problems import ApiError
from ava.files import safe_fs
from ava.files.filesystem import WrongFilesystem
from ava.files.folders import FolderReconciler
from ava.files.metrics import Metrics
from ava.kube.errors import Fenced

log = logging.getLogger(__name__)
KINDS = {
    "user-changed": FolderKind.USER,
    "group-changed": FolderKind.GROUP,
    "data-set-changed": FolderKind.DATA_SET,
}
TRIES = 3
"""A message that fails so often is left to the looks at all folders: a hundred of such would hide all others."""
PART = "storage"
"""Name under which heartbeats are kept."""


class Reconciler:
    """One leadership. It works in a thread, since nothing of a file system is asynchronous.

    Args:
        lead: returns while this process leads, raises Fenced after; asked before each folder.
        beside: what else is done at each pass (abandoned uploads).
    """

    def __init__(
        self,
        db: Database,
        maker: FolderReconciler,
        metrics: Metrics,
        *,
        lead: Callable[[], object],
        now: Callable[[], datetime],
        every: float = 60.0,
        poll: float = 5.0,
        beside: Callable[[], None] = lambda: None,
    ) -> None:
        self.db, self.maker, self.metrics, self.now = db, maker, metrics, now
        self.lead, self.every, self.poll, self.beside = lead, every, poll, beside
        self.stopped = threading.Event()
        self._failures: dict[int, int] = {}
        """How often each open message failed."""
        self.trouble = ""
        """What keeps it from doing anything, for anyone who looks after it."""

    def run(self) -> None:
        """Work until stopped or until the lead is lost."""
        due = 0.0
        with suppress(Fenced):
            while not self.stopped.is_set():
                self.lead()
                try:
                    self.maker.ground.found()
                    self.take()
                    if time.monotonic() >= due:
                        self.look_at_all()
                        due = time.monotonic() + self.every
                    self.trouble = ""
                    self.db.outbox.wait(Topic.STORAGE, self.poll)
                except Fenced:
                    raise
                except (OSError, ApiError, WrongFilesystem) as error:
                    self._failed(str(error))
                except Exception as error:
                    log.exception("storage")
                    self._failed(f"{type(error).__name__}: {error}")

    def take(self) -> None:
        """Carry out what is open; what fails stays open and comes again."""
        for message in self.db.outbox.list_open(Topic.STORAGE, 100):
            self.lead()
            well = self._tried(message.kind, message.object, partial(self._take, message))
            self._failures[message.seq] = self._failures.get(message.seq, 0) + 1
            if well or self._failures[message.seq] >= TRIES:
                del self._failures[message.seq]
                self.db.outbox.complete([message.seq], self.now())

    def look_at_all(self) -> None:
        """Bring every folder to what it has to be, and measure it."""
        began, troubles = time.monotonic(), 0
        for wanted in self.db.folders.list_specs():
            self.lead()
            seen: list[Folder] = []
            step = self.maker.remove if wanted.gone else self.maker.make
            well = self._tried(wanted.kind.value, wanted.name, partial(self._look, step, wanted, seen))
            troubles += not well or bool(seen[0].trouble)
        try:
            self.beside()
        except (Fenced, ApiError, WrongFilesystem):
            raise
        except Exception:
            log.exception("abandoned uploads")
        self.metrics.troubles.set(troubles)
        self.metrics.look.set(time.monotonic() - began)
        self.db.heartbeats.record(PART, self.now(), {"troubles": troubles})

    @staticmethod
    def _look(step: Callable[[FolderSpec], Folder], wanted: FolderSpec, seen: list[Folder]) -> None:
        seen.append(step(wanted))

    def _take(self, message: Message) -> object:
        kind = KINDS.get(message.kind)
        return None if kind is None else self.maker.look(kind, message.object)

    def _tried(self, kind: str, name: str, step: Callable[[], object]) -> bool:
        """Do something with one folder; what goes wrong is reported, and the other folders have their turn."""
        try:
            step()
        except (Fenced, WrongFilesystem):
            # It concerns all of them: the lead, the file system as a whole.
            raise
        except (ApiError, safe_fs.WrongOwner, OSError) as error:
            if isinstance(error, ApiError) and error.status >= 500:
                raise
            log.warning("%s %s: %s", kind, name, error)
        except Exception:
            log.exception("%s %s", kind, name)
        else:
            return True
        self.metrics.errors.inc()
        return False

    def _failed(self, what: str) -> None:
        if what != self.trouble:
            log.error("%s", what)
        self.trouble = what
        self.metrics.errors.inc()
        self.stopped.wait(self.poll)
