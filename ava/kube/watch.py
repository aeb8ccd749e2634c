"""Changes as they happen, resumed.

A server ends each watch (built-in kinds after 30 to 60 minutes, custom kinds of 1.9 after 60 to 120 s), a proxy cuts it,
or it falls silent for ever: a watch asks for an early end itself and is begun again from the last change seen.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Literal, NamedTuple

import aiohttp
import orjson

from ava.kube.client import Client, Object
from ava.kube.errors import Unavailable, from_status
from ava.kube.resources import Kind

SECONDS = 60
"""How long one watch lasts; the silence after which a dead connection is found out is this and SLACK."""
SLACK = 10.0
"""Seconds that a reply may come later than asked for."""
LONGEST = 64 << 20
"""Bytes of one line; an object of etcd has 1.5 MiB at most."""


class Event(NamedTuple):
    """One change.

    Attributes:
        type: ADDED, MODIFIED or DELETED.
        object: the object after it (before it, for DELETED).
    """

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object

    @property
    def version(self) -> str:
        """Return the resource version to continue from."""
        return str(self.object["metadata"]["resourceVersion"])


async def _lines(content: aiohttp.StreamReader, where: str) -> AsyncIterator[bytes]:
    """Give the lines of a body. The library's own reader refuses lines that are longer than its buffer."""
    rest = bytearray()
    async for chunk in content.iter_any():
        rest += chunk
        if b"\n" in chunk:
            *whole, rest = rest.split(b"\n")
            for line in whole:
                if line:
                    yield bytes(line)
        if len(rest) > LONGEST:
            raise Unavailable(f"{where}: a line of more than {LONGEST} bytes", reason="BadReply")


async def watch(
    client: Client,
    kind: Kind,
    version: str,
    namespace: str | None = None,
    *,
    labels: str = "",
    fields: str = "",
    seconds: int = SECONDS,
    slack: float = SLACK,
) -> AsyncGenerator[Event, None]:
    """Give changes after ``version`` until the server ends the watch, which is no error.

    Raises Gone where ``version`` is too old (list again), Unavailable where the connection broke, was cut, or reported nothing
    for longer than the server had promised to.
    """
    path = kind.path(namespace)
    params: dict[str, str] = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds)}
    params |= {k: v for k, v in (("labelSelector", labels), ("fieldSelector", fields)) if v}
    where = f"WATCH {path}"
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=seconds + slack)
    async with client.stream("GET", path, params=params, timeout=timeout) as reply:
        async for line in _lines(reply.content, where):
            answer = _parse(line, where)
            if answer["type"] == "ERROR":
                status = answer.get("object") or {}
                raise from_status(int(status.get("code") or 500), status, where)
            if answer["type"] in ("ADDED", "MODIFIED", "DELETED"):
                yield Event(answer["type"], answer["object"])


def _parse(line: bytes, where: str) -> dict[str, Any]:
    """Decode one event; a line that was cut off by a broken connection is an error like the break itself."""
    try:
        reply = orjson.loads(line)
    except orjson.JSONDecodeError:
        reply = None
    if not isinstance(reply, dict) or "type" not in reply or not isinstance(reply.get("object"), dict):
        raise Unavailable(f"{where}: a line that is no event", reason="BadReply")
    return reply
