"""What a reply holds: an object, or a Status that says what went wrong."""

from __future__ import annotations

from typing import Any

import aiohttp
import orjson

from ava.kube.errors import Unavailable

BODY = 1 << 20
"""Bytes of an error's body that are read."""
Object = dict[str, Any]


def decode(raw: bytes, where: str) -> Object:
    """Return the object that a body is; Unavailable where it is none."""
    try:
        reply = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError:
        raise Unavailable(f"{where}: the reply is not JSON", reason="BadReply") from None
    if not isinstance(reply, dict):
        raise Unavailable(f"{where}: the reply is not an object", reason="BadReply")
    return reply


async def status_of(reply: aiohttp.ClientResponse) -> Object:
    """Return the ``Status`` that an error's body holds; empty where it holds none."""
    try:
        answer = orjson.loads(await reply.content.read(BODY))
    except (orjson.JSONDecodeError, aiohttp.ClientError, TimeoutError):
        return {}
    return answer if isinstance(answer, dict) else {}


def retry_after(reply: aiohttp.ClientResponse) -> float | None:
    """Return after how many seconds the server wants to be asked again."""
    answer = reply.headers.get("Retry-After", "")
    return float(answer) if answer.isdigit() else None
