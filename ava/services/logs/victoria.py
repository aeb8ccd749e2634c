"""Kept logs, from the site's VictoriaLogs over TLS; a store that does not answer is made up for by another."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import httpx
import orjson

from ava.domain.lines import lines_async
from ava.services.config import LogStore
from ava.services.logs.interface import LogBackendUnavailable, LogLine, Pods, Target, cut, merged, nanoseconds
from ava.settings import ConfigError

LOG = logging.getLogger(__name__)
QUERY = "/select/logsql/query"
LARGEST = 32 * 2**20
"""Bytes of one answer; more is not read."""
PERIOD = 0.5
"""Seconds between two questions of a live view; shipper and store take a second or two before that."""
END = 8.0
"""The last lines of a pod arrive so many seconds after it is gone."""
LATE = timedelta(seconds=20)
"""Lines that arrive so late are shown still."""
ROUND = 10_000
_PLAIN = re.compile(r"[a-z0-9.-]{1,253}")


class KeptLogs:
    """Reads all stores of the settings at once."""

    def __init__(self, stores: Sequence[LogStore], transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._clients = [(store.name, _client(store, transport)) for store in stores]

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """Return the newest lines; LogBackendUnavailable where no store has answered."""
        params = {"query": text(target, since), "limit": str(limit)}
        asked = [self._ask(name, client, params) for name, client in self._clients]
        answers = await asyncio.gather(*asked)
        found = [answer for answer in answers if not isinstance(answer, str)]
        if not found:
            raise LogBackendUnavailable("; ".join(str(a) for a in answers) or "no store is named")
        return merged((line for answer in found for line in answer), limit)

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """Yield lines as the stores get them, a second or more after they were written."""
        seen: dict[tuple[int, str, str], None] = {}
        last = False
        while True:
            over = pods() is None
            for line in await self.read(target, since=since, limit=ROUND):
                key = (line.nanoseconds, line.pod, line.text)
                if key not in seen:
                    seen[key] = None
                    yield line
            since = max(since, datetime.now(UTC) - LATE)
            oldest = int(since.timestamp() - LATE.total_seconds()) * 10**9
            seen = {key: None for key in seen if key[0] >= oldest}
            if last:
                return
            last = over
            await asyncio.sleep(END if last else PERIOD)

    async def close(self) -> None:
        """Give connections back."""
        for _, client in self._clients:
            await client.aclose()

    async def _ask(self, name: str, client: httpx.AsyncClient, params: dict[str, str]) -> list[LogLine] | str:
        """Return a store's lines, or why there are none."""
        lines: list[LogLine] = []
        broken = 0
        try:
            async with client.stream("POST", QUERY, data=params) as answer:
                if answer.status_code != 200:
                    return f"{name}: answers {answer.status_code}"
                async for row in lines_async(_bounded(answer.aiter_bytes())):
                    if row.strip():
                        line = _line(row)
                        lines += [line] if line else []
                        broken += not line
        except (httpx.HTTPError, _TooMuch) as error:
            return f"{name}: {error if isinstance(error, _TooMuch) else type(error).__name__}"
        if broken:
            LOG.warning("log store %s: %d records cannot be read and are left out", name, broken)
        return f"{name}: the answer cannot be read" if broken and not lines else lines


class _TooMuch(Exception):
    """An answer is larger than what is read of one."""


async def _bounded(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > LARGEST:
            raise _TooMuch(f"the lines are more than {LARGEST // 2**20} MiB; ask for fewer")
        yield piece


def _line(row: bytes) -> LogLine | None:
    """Return the line of a record; None where it cannot be read: one bad record never hides the others."""
    try:
        found = orjson.loads(row)
        message = str(found.get("_msg", ""))
        return LogLine(
            nanoseconds(found["_time"]), str(found.get("pod", "")), cut(message.encode("utf-8", "replace"))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def text(target: Target, since: datetime | None) -> str:
    """Return the question in LogsQL; ValueError for a name that Kubernetes would not have."""
    for name in (target.namespace, target.prefix, *target.pods):
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"no name of Kubernetes: {name!r}")
    begin = since.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if since else None
    parts = [f"_time:[{begin}, 2200-01-01T00:00:00Z)"] if begin else []
    parts.append(f"namespace:={json.dumps(target.namespace)}")
    if target.only:
        parts.append("pod:in(" + ",".join(json.dumps(p) for p in target.pods) + ")")
    else:
        parts.append(f"pod:={json.dumps(target.prefix)}*")
    return " ".join(parts)


def _client(store: LogStore, transport: httpx.AsyncBaseTransport | None) -> httpx.AsyncClient:
    """Return the connections to a store; ConfigError where its files are of no use."""
    try:
        context = ssl.create_default_context(cafile=str(store.ca) if store.ca else None)
        if store.certificate is not None:
            context.load_cert_chain(store.certificate, store.key)
        word = store.passfile.read_text(encoding="utf-8").strip() if store.passfile else ""
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"log store {store.name}: certificates or password cannot be read: {error}"
        ) from error
    auth = httpx.BasicAuth(store.user, word) if store.user else None
    return httpx.AsyncClient(
        base_url=store.url, verify=context, auth=auth, timeout=20.0, trust_env=False, transport=transport
    )
