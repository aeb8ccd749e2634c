"""Live logs, from the log endpoint of Kubernetes' pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import aiohttp

from ava.api.logs.interface import LONGEST, LogLine, LogsDown, Pods, Target, merged, nanoseconds
from ava.kube.access import Access
from ava.kube.client import Client
from ava.kube.errors import KubeError
from ava.kube.resources import PODS

MOST = 64
"""Pods of one run that are read at once."""
PERIOD = 1.0
BUFFER = 1000
"""Lines that wait for a slow reader; then the pods' streams wait too."""
_FOREVER = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=None)
_SHORT = aiohttp.ClientTimeout(total=20)


class LiveLogs:
    """Reads the pods of several clusters.

    Args:
        clusters: how to reach each.
        container: whose log it is, in every pod.
    """

    def __init__(self, clusters: Mapping[str, Access], container: str = "") -> None:
        self._access, self._container = dict(clusters), container
        self._clients: dict[str, Client] = {}
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """Return the newest lines of the pods that are there; LogsDown where none can be read."""
        client = await self._client(target.cluster)
        asked = [self._tail(client, target.namespace, pod, since, limit) for pod in target.pods[:MOST]]
        answers = await asyncio.gather(*asked)
        found = [answer for answer in answers if not isinstance(answer, str)]
        if not found:
            raise LogsDown("; ".join(str(a) for a in answers[:3]) or "no pod of the run is there")
        return merged((line for answer in found for line in answer), limit)

    async def follow(self, target: Target, pods: Pods, *, since: datetime) -> AsyncIterator[LogLine]:
        """Yield lines as they are written, of pods that come later too."""
        client = await self._client(target.cluster)
        lines: asyncio.Queue[LogLine] = asyncio.Queue(BUFFER)
        tasks: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                there = pods()
                for pod in list(there or ())[:MOST]:
                    if pod not in tasks:
                        tasks[pod] = asyncio.create_task(
                            self._stream(client, target.namespace, pod, since, lines, pods)
                        )
                try:
                    yield await asyncio.wait_for(lines.get(), PERIOD)
                except TimeoutError:
                    if there is None and all(task.done() for task in tasks.values()):
                        return
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def close(self) -> None:
        """Give connections back."""
        self._clients.clear()
        await self._stack.aclose()

    async def _client(self, cluster: str) -> Client:
        async with self._lock:
            if cluster not in self._access:
                raise LogsDown(f"the API may not read pods of cluster {cluster}")
            if cluster not in self._clients:
                self._clients[cluster] = await self._stack.enter_async_context(Client(self._access[cluster]))
            return self._clients[cluster]

    def _params(self, since: datetime | None, **more: str) -> dict[str, str]:
        named = {"container": self._container} if self._container else {}
        begin = {"sinceTime": since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")} if since else {}
        return {"timestamps": "true", **named, **begin, **more}

    async def _tail(
        self, client: Client, namespace: str, pod: str, since: datetime | None, limit: int
    ) -> list[LogLine] | str:
        params = self._params(since, tailLines=str(limit), limitBytes=str(16 * 2**20))
        found: list[LogLine] = []
        try:
            async with client.stream(
                "GET", PODS.path(namespace, pod, "log"), params=params, timeout=_SHORT
            ) as reply:
                async for line in lines_of(reply.content.iter_any(), pod):
                    found.append(line)
        except (KubeError, aiohttp.ClientError, TimeoutError) as error:
            return f"{pod}: {type(error).__name__}"
        return [line for line in found if since is None or line.time >= since]

    async def _stream(
        self,
        client: Client,
        namespace: str,
        pod: str,
        since: datetime,
        lines: asyncio.Queue[LogLine],
        pods: Pods,
    ) -> None:
        """Put a pod's lines into the queue until it is gone; a connection that is cut is made again where it ended."""
        last = int(since.timestamp() * 10**9) - 1
        while True:
            begin = datetime.fromtimestamp(last / 10**9, UTC)
            try:
                async with client.stream(
                    "GET",
                    PODS.path(namespace, pod, "log"),
                    params=self._params(begin, follow="true"),
                    timeout=_FOREVER,
                ) as reply:
                    async for line in lines_of(reply.content.iter_any(), pod):
                        # Kubernetes knows whole seconds: what was told before comes again.
                        if line.nanoseconds > last:
                            last = line.nanoseconds
                            await lines.put(line)
            except (KubeError, aiohttp.ClientError, TimeoutError) as error:
                if isinstance(error, KubeError) and error.code == 404:
                    return
            there = pods()
            if there is None or pod not in there:
                return
            await asyncio.sleep(PERIOD)


async def lines_of(chunks: AsyncIterator[bytes], pod: str) -> AsyncIterator[LogLine]:
    """Yield the lines of a log with timestamps, as its pieces come; a line that does not end takes bounded memory."""
    rest = b""
    cut = False
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for row in whole:
            if not cut and (line := _line(row, pod)) is not None:
                yield line
            cut = False
        if len(rest) > LONGEST:
            if not cut and (line := _line(rest, pod)) is not None:
                yield line
            rest, cut = b"", True
    if rest and not cut and (line := _line(rest, pod)) is not None:
        yield line


def _line(row: bytes, pod: str) -> LogLine | None:
    stamp, _, said = row.partition(b" ")
    try:
        return LogLine(nanoseconds(stamp.decode("ascii")), pod, said[:LONGEST].decode("utf-8", "replace"))
    except ValueError:
        return None
