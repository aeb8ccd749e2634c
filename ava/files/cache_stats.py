"""How much of data sets that are read through Alluxio its workers hold now, as its master reports.

The master's REST also returns contents of files and authenticates no client, so pods have no access to its port: it is asked
through the API server, as a Service whose subresource ``proxy`` this account alone may get.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import orjson

from ava.db.database import Database
from ava.domain.data_sets import CACHED, CacheSource, DataSet, ExternalSource, HdfsSource, below, source
from ava.domain.phrases import Phrase
from ava.kube.client import Client
from ava.kube.errors import KubeError
from ava.kube.for_each import for_each
from ava.kube.resources import SERVICES

log = logging.getLogger(__name__)
BROWSE = "/api/v1/master/webui_browse"
MOUNTS = "/api/v1/master/webui_mounttable"
STANDBY = "The service is temporarily unavailable"
"""How a listing of a master begins that does not lead."""
NO_SPACE = "-1B"
"""Size of an HDFS that does not answer."""
MOST_FOLDERS, MOST_FILES = 200, 50_000
"""Of one data set so many are looked at: for each folder the master lists it in what lies behind the cache."""
LARGEST = 2**26
"""Bytes of one answer."""
PATIENCE = 60.0
UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40, "PB": 2**50}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(B|[KMGTP]B)")


class NotReported(ValueError):
    """The cache does not tell; says why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NothingThere(NotReported):
    """The cache knows of nothing at a data set's path; says so."""


class CacheStats:
    """Looks at one data set at a time, each again after a while.

    Args:
        client: of the API server.
        namespace: of the Services.
        services: one Service for each master; of several, the one that leads answers.
        every: after which a data set is looked at again.
    """

    def __init__(
        self,
        db: Database,
        client: Client,
        namespace: str,
        services: Sequence[str],
        now: Callable[[], datetime],
        every: timedelta = timedelta(minutes=10),
    ) -> None:
        self.db, self.client, self.now, self.every = db, client, now, every
        self._paths = [SERVICES.path(namespace, service, "proxy") for service in services]
        self._tried: dict[str, datetime] = {}

    async def look(self) -> None:
        """Look at those that are due."""
        found = [
            one for kind in CACHED for one in await asyncio.to_thread(self.db.external_sources.list, kind)
        ]
        due: list[tuple[ExternalSource, DataSet]] = []

        async def ask(one: DataSet) -> None:
            if self._due(known := await asyncio.to_thread(self.db.external_sources.get, one.id)):
                due.append((known, one))

        await for_each("cached data sets", found, ask)
        silent = await self._silent() if due else ()
        await for_each("cached data sets", due, lambda pair: self._look(*pair, silent))
        self._tried = {one.id: self._tried[one.id] for one in found if one.id in self._tried}

    async def _look(self, known: ExternalSource, one: DataSet, silent: Sequence[str] | NotReported) -> None:
        self._tried[one.id] = self.now()
        try:
            _heard(one, silent)
            size, cached, whole = await self.measure(one)
            trouble = "" if whole else Phrase("only its first {count} files were looked at", count=MOST_FILES)
            seen = replace(known, size=size, cached=cached, seen=self.now(), trouble=trouble)
        except NothingThere as error:
            seen = replace(known, size=None, cached=None, seen=self.now(), trouble=error.why)
        except NotReported as error:
            # What was last known stays, with its age.
            seen = replace(known, trouble=error.why)
        if seen != known:
            await asyncio.to_thread(self.db.external_sources.record, seen)

    def _due(self, known: ExternalSource) -> bool:
        last = self._tried.get(known.data_set) or known.seen
        return last is None or self.now() - last >= self.every

    async def measure(self, one: DataSet) -> tuple[int, int, bool]:
        """Return the bytes of a data set's files, how many of them are cached, and whether all files were looked at."""
        size = cached = files = 0
        folders = [f"/{below(_cached(one))}"]
        for _ in range(MOST_FOLDERS):
            if not folders or files >= MOST_FILES:
                break
            inner, sizes = _entries(await self._list(folders.pop(), MOST_FILES - files))
            folders += inner
            files += len(sizes)
            size += sum(whole for whole, _ in sizes)
            cached += sum(there for _, there in sizes)
        return size, cached, not folders and files < MOST_FILES

    async def _silent(self) -> Sequence[str] | NotReported:
        """Return where in the cache an HDFS is mounted none of whose namenodes answers, or why no master says so."""
        try:
            # The master asks each of them first, and waits for those most of a minute.
            reply = await self._ask(MOUNTS, {}, 5 * PATIENCE)
        except NotReported as error:
            return error
        entries = [entry for entry in reply.get("mountPointInfos") or [] if isinstance(entry, dict)]
        dead = [e for e in entries if e.get("ufsType") == "hdfs" and e.get("ufsCapacityBytes") == NO_SPACE]
        return [str(entry.get("mountPoint")) for entry in dead]

    async def _list(self, path: str, most: int) -> list[dict[str, Any]]:
        reply = await self._ask(BROWSE, {"path": path, "offset": "0", "limit": str(most)}, PATIENCE)
        if wrong := reply.get("invalidPathError") or reply.get("fatalError"):
            raise NothingThere(
                Phrase("the cache has nothing at {path}: {error}", path=path, error=str(wrong)[:200])
            )
        return [entry for entry in reply.get("fileInfos") or [] if isinstance(entry, dict)]

    async def _ask(self, page: str, query: dict[str, str], seconds: float) -> dict[str, Any]:
        """Return the reply of the first master that gives one to a page; NotTold where none does."""
        why: str = Phrase("no master is known")
        limit = aiohttp.ClientTimeout(total=seconds, sock_connect=10)
        for path in self._paths:
            try:
                async with self.client.stream("GET", path + page, params=query, timeout=limit) as answer:
                    reply = await asyncio.to_thread(_decoded, await _whole(answer))
            except KubeError as error:
                why = Phrase("status {code}", code=error.code) if error.code else error.reason
            except ValueError as error:
                why = error.why if isinstance(error, NotReported) else type(error).__name__
            else:
                if not str(reply.get("invalidPathError")).startswith(STANDBY):
                    return reply
                why = "no master leads"
        raise NotReported(Phrase("the cache does not say what it holds: {why}", why=why))


def _heard(one: DataSet, silent: Sequence[str] | NotReported) -> None:
    """NotTold where a data set lies in an HDFS that does not answer: each question for its files would wait for that again."""
    chosen = _cached(one)
    if isinstance(silent, NotReported):
        if isinstance(chosen, HdfsSource):
            raise silent
        return
    for point in silent:
        if f"/{below(chosen)}/".startswith(f"{point}/"):
            raise NotReported(
                Phrase(
                    "no namenode of {point} answers the cache: runs read nothing there until one does",
                    point=point,
                )
            )


def _cached(one: DataSet) -> CacheSource | HdfsSource:
    chosen = source(one.source)
    if not isinstance(chosen, CacheSource | HdfsSource):
        raise TypeError(f"data set {one.id} is not read through the cache")
    return chosen


def amount(text: str) -> int:
    """Return bytes of a size as Alluxio writes it (``12.50MB``); NotTold for what is none."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise NotReported(f"the cache tells sizes that cannot be read: {text[:20]!r}")
    return int(float(found[1]) * UNITS[found[2]])


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for piece in answer.content.iter_chunked(2**16):
        found += piece
        if len(found) > LARGEST:
            raise NotReported(Phrase("its answer is too long"))
    return bytes(found)


def _decoded(body: bytes) -> dict[str, Any]:
    reply = orjson.loads(body)
    if not isinstance(reply, dict):
        raise NotReported("its answer is no object")
    return reply


def _entries(listing: list[dict[str, Any]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the folders among entries, and of each file its bytes and how many of them are cached."""
    try:
        folders = [str(entry["absolutePath"]) for entry in listing if entry["isDirectory"]]
        files = [entry for entry in listing if not entry["isDirectory"]]
        shares = [min(100, max(0, int(entry["inAlluxioPercentage"]))) for entry in files]
        sizes = [amount(str(entry["size"])) for entry in files]
    except (KeyError, TypeError) as error:
        raise NotReported(f"the cache tells files in a way that cannot be read: {error}") from None
    return folders, [(size, size * share // 100) for size, share in zip(sizes, shares, strict=True)]
