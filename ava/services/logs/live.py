"""Live logs, from the log endpoint of Kubernetes' pods."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import aiohttp

from ava.kube.access import Access
from ava.kube.client import Client
from ava.kube.errors import KubeError
from ava.kube.resources import PODS
from ava.services.logs.interface import (
    LONGEST,
    RECORD,
    LogBackendUnavailable,
    LogLine,
    Pods,
    Target,
    cut,
    merged,
    nanoseconds,
)
from ava.services.logs.secrets import NO_SECRETS, Secrets

MOST = 64
"""Pods of one run that are read at once."""
PERIOD = 1.0
BUFFER = 1000
"""Lines that wait for a slow reader; then the pods' streams wait too."""
LARGEST = 16 * 2**20
"""Bytes of one pod's answer; where more lines were asked for than these hold, fewer are asked for."""
MORE = 8
"""Records more than lines are asked for, so that the oldest line is not the end of one."""
_STAMP = 40
_SEAM = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) ")
_SEAMS = 2 * _STAMP * (LONGEST // RECORD)
_WRONG = "\N{REPLACEMENT CHARACTER}".encode()
# A file that docker has begun again, for its size, is followed no further by kubelet 1.9: what is silent is asked for again.
_FOLLOWED = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=120)
_SHORT = aiohttp.ClientTimeout(total=20)


class LiveLogs:
    """Reads the pods of several clusters.

    Args:
        clusters: how to reach each.
        secrets: what is masked, as the nodes' shippers do it: the same line looks the same.
        container: whose log it is, in every pod.
    """

    def __init__(
        self, clusters: Mapping[str, Access], secrets: Secrets = NO_SECRETS, container: str = ""
    ) -> None:
        self._access, self._secrets, self._container = dict(clusters), secrets, container
        self._clients: dict[str, Client] = {}
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def read(self, target: Target, *, since: datetime | None, limit: int) -> Sequence[LogLine]:
        """Return the newest lines of the pods that are there; LogBackendUnavailable where none can be read."""
        client = await self._client(target.cluster)
        asked = [self._tail(client, target.namespace, pod, since, limit) for pod in target.pods[:MOST]]
        answers = await asyncio.gather(*asked)
        found = [answer for answer in answers if not isinstance(answer, str)]
        if not found:
            raise LogBackendUnavailable(
                "; ".join(str(a) for a in answers[:3]) or "no pod of the run is there"
            )
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
                    broken = [t.exception() for t in tasks.values() if t.done() and not t.cancelled()]
                    if error := next(filter(None, broken), None):
                        raise LogBackendUnavailable(
                            f"a pod's log cannot be read: {type(error).__name__}"
                        ) from error
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
                raise LogBackendUnavailable(f"the API may not read pods of cluster {cluster}")
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
        """Return a pod's newest lines, or why there are none."""
        asked = limit + MORE
        while True:
            params = self._params(since, tailLines=str(asked), limitBytes=str(LARGEST))
            path = PODS.path(namespace, pod, "log")
            found: list[LogLine] = []
            size = 0
            try:
                async with client.stream("GET", path, params=params, timeout=_SHORT) as reply:

                    async def counted(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
                        nonlocal size
                        async for piece in pieces:
                            size += len(piece)
                            yield piece

                    async for line in lines_of(counted(reply.content.iter_any()), pod, self._secrets):
                        found.append(line)
            except (KubeError, aiohttp.ClientError, TimeoutError) as error:
                return f"{pod}: {type(error).__name__}"
            if size < LARGEST or asked < MORE:
                break
            # Kubernetes left out the newest.
            asked //= 4
        if sum(len(line.parts) or 1 for line in found) >= asked:
            del found[0]
        return [line for line in found if since is None or line.time >= since][-limit:]

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
                    timeout=_FOLLOWED,
                ) as reply:
                    async for line in lines_of(reply.content.iter_any(), pod, self._secrets):
                        # Kubernetes knows whole seconds: what was reported before comes again.
                        if line.nanoseconds > last:
                            last = max((line.nanoseconds, *line.parts))
                            await lines.put(line)
            except (KubeError, aiohttp.ClientError, TimeoutError) as error:
                if isinstance(error, KubeError) and error.code == 404:
                    return
            there = pods()
            if there is None or pod not in there:
                return
            await asyncio.sleep(PERIOD)


def rows_of(row: bytes) -> tuple[list[int], bytes] | None:
    """Return the times of a line's records and its whole text; None where it is no line with a time.

    docker ends a record after RECORD bytes, and Kubernetes tells the time before each. What was no UTF-8 has become one
    character of three bytes for each byte.
    """
    stamp, _, rest = row.partition(b" ")
    try:
        times = [nanoseconds(stamp.decode("ascii"))]
    except ValueError:
        return None
    pieces = []
    while len(rest) >= RECORD:
        found = _SEAM.match(rest, RECORD) or _later_seam(rest)
        if found is None:
            break
        pieces.append(rest[: found.start()])
        times.append(nanoseconds(found[1].decode("ascii")))
        rest = rest[found.end() :]
    return times, b"".join((*pieces, rest))


def _later_seam(rest: bytes) -> re.Match[bytes] | None:
    """Return where the next record begins, of one that holds bytes that were no UTF-8."""
    wrong = rest.count(_WRONG)
    for found in _SEAM.finditer(rest, RECORD, RECORD + 2 * wrong + _STAMP) if wrong else ():
        longer = found.start() - RECORD
        if longer % 2 == 0 and longer <= 2 * rest.count(_WRONG, 0, found.start()):
            return found
    return None


async def lines_of(
    chunks: AsyncIterator[bytes], pod: str, secrets: Secrets = NO_SECRETS
) -> AsyncIterator[LogLine]:
    """Yield the lines of a log with timestamps, as its pieces come; a line that does not end takes bounded memory."""
    rest = b""
    skip = False
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for row in whole:
            if not skip and (line := _line(row, pod, secrets)) is not None:
                yield line
            skip = False
        if len(rest) > LONGEST + _SEAMS:
            if not skip and (line := _line(rest, pod, secrets)) is not None:
                yield line
            rest, skip = b"", True
    if rest and not skip and (line := _line(rest, pod, secrets)) is not None:
        yield line


def _line(row: bytes, pod: str, secrets: Secrets) -> LogLine | None:
    found = rows_of(row)
    if found is None:
        return None
    times, reply = found
    at = times[0] if len(reply) > LONGEST else times[-1]
    return LogLine(at, pod, secrets.masked(cut(reply)), tuple(times) if len(times) > 1 else ())
