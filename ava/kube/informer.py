"""A local copy of a kind's objects, kept by list and watch, with calls for what changes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Protocol

from ava.kube.backoff import SOON, Backoff
from ava.kube.client import Client, Object
from ava.kube.errors import Gone, KubeError
from ava.kube.resources import Kind
from ava.kube.trim import trim
from ava.kube.watch import SECONDS, SLACK, watch

log = logging.getLogger(__name__)
Key = tuple[str, str]
"""Namespace ("" for kinds without) and name."""


class EventHandler(Protocol):
    """Called on changes; ``old`` is None for a new object, ``new`` is None for one that is gone. Must not block."""

    def __call__(self, old: Object | None, new: Object | None) -> None:
        """Take one change."""


def key(thing: Object) -> Key:
    """Return where an object is found in a mirror."""
    meta = thing["metadata"]
    return meta.get("namespace", ""), meta["name"]


class Informer:
    """Objects of one kind (of one namespace or all, by labels or fields) as the server has them.

    ``accept`` leaves out objects that no selector can: the rest of the program never sees them.

    An object that was replaced by another of the same name is reported as gone and new. What went while the connection was
    down is reported at the next list. Attributes:

    objects: by namespace and name, without what slim.py leaves out unless they are kept ``whole``; read only for callers.
    synced: set once the first list is in.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        accept: Callable[[Object], bool] = lambda thing: True,
        seconds: int = SECONDS,
        slack: float = SLACK,
        whole: bool = False,
    ) -> None:
        self.client = client
        self.kind = kind
        self.objects: dict[Key, Object] = {}
        self.synced = asyncio.Event()
        self.relists = self.watches = 0
        self._namespace, self._labels, self._fields = namespace, labels, fields
        self._accept = accept
        self._seconds, self._slack = seconds, slack
        self._whole = whole
        self._listeners: list[EventHandler] = []
        self._contact = time.monotonic()
        self._seen = ""
        """Resource version of the last list or event; "": list next."""

    def listen(self, listener: EventHandler) -> None:
        """Tell ``listener`` of all changes from now on, in order."""
        self._listeners.append(listener)

    def silent_for(self) -> float:
        """Return the seconds since the server was last heard; objects may be that old."""
        return time.monotonic() - self._contact

    def select(self, wanted: Callable[[Object], bool]) -> Iterator[Object]:
        """Return the objects that ``wanted`` says yes to."""
        return (thing for thing in list(self.objects.values()) if wanted(thing))

    async def run(self) -> None:
        """Keep the copy until cancelled. Errors are waited out."""
        backoff = Backoff(0.2, SOON)
        while True:
            began = time.monotonic()
            try:
                if not self._seen:
                    await self._list()
                    began = time.monotonic()
                if await self._watch() or time.monotonic() - began > 1.0:
                    backoff.reset()
                else:
                    # A watch that ends at once, without an error, again and again, must not become a flood.
                    await asyncio.sleep(backoff.next())
            except Gone:
                self._seen = ""
                await asyncio.sleep(backoff.next())
            except KubeError as error:
                log.warning("mirror of %s: %s", self.kind.plural, error)
                if time.monotonic() - began > self._seconds / 2:
                    backoff.reset()
                await asyncio.sleep(max(error.retry_after or 0.0, backoff.next()))
            except Exception:
                log.exception("mirror of %s: listed again", self.kind.plural)
                self._seen = ""
                await asyncio.sleep(backoff.next())

    def put(self, thing: Object) -> None:
        """Take an object that a write returned, so that it is known before the watch tells of it.

        One that the watch has passed already is left out: it may be gone again.
        """
        version = int(thing["metadata"]["resourceVersion"])
        known = self.objects.get(key(thing))
        if known is not None and int(known["metadata"]["resourceVersion"]) >= version:
            return
        if self._seen and version > int(self._seen):
            self._set(thing)

    async def _list(self) -> None:
        items, version = await self.client.list(
            self.kind, self._namespace, labels=self._labels, fields=self._fields
        )
        self.relists += 1
        self._contact = time.monotonic()
        found: set[Key] = set()
        for item in items:
            try:
                found.add(key(item))
                self._set(item)
            except Exception:
                log.exception("an object among %s cannot be read", self.kind.plural)
        for gone in [k for k in self.objects if k not in found]:
            self._drop(gone)
        self._seen = version
        self.synced.set()

    async def _watch(self) -> int:
        """Take changes until the watch ends; return how many there were."""
        taken = 0
        self.watches += 1
        events = watch(
            self.client,
            self.kind,
            self._seen,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            seconds=self._seconds,
            slack=self._slack,
        )
        async with aclosing(events):
            async for event in events:
                taken += 1
                self._contact = time.monotonic()
                try:
                    if event.type == "DELETED":
                        self._drop(key(event.object), event.object)
                    else:
                        self._set(event.object)
                except Exception:
                    log.exception("an object among %s cannot be read", self.kind.plural)
                self._seen = event.version
        self._contact = time.monotonic()
        return taken

    def _set(self, new: Object) -> None:
        where = key(new)
        if not self._accept(new):
            self._drop(where)
            return
        old = self.objects.get(where)
        if old is not None and old["metadata"]["uid"] != new["metadata"]["uid"]:
            self._drop(where)
            old = None
        if old is not None and old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        self.objects[where] = kept = new if self._whole else trim(new)
        self._tell(old, kept)

    def _drop(self, where: Key, last: Object | None = None) -> None:
        old = self.objects.get(where)
        if old is None or (last is not None and old["metadata"]["uid"] != last["metadata"]["uid"]):
            return
        del self.objects[where]
        self._tell(last or old, None)

    def _tell(self, old: Object | None, new: Object | None) -> None:
        for listener in self._listeners:
            try:
                listener(old, new)
            except Exception:
                log.exception("a listener of %s failed", self.kind.plural)


async def synced(mirrors: Iterable[Informer], timeout: float | None = None) -> None:
    """Wait until all mirrors have their first list; TimeoutError after ``timeout`` seconds."""
    async with asyncio.timeout(timeout):
        for mirror in mirrors:
            await mirror.synced.wait()
