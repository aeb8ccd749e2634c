"""Lines of logs byte for byte: whatever separators they hold, blank, long, secret; one bad record hides no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import aiohttp
import httpx
import pytest
from aiohttp import web

from ava.services.logs import live
from ava.services.logs.interface import LONGEST, RECORD, LogLine, merged
from ava.services.logs.live import LiveLogs, lines_of
from ava.services.logs.secrets import Secrets
from tests.unit.ava.api.test_api_logs import BEGIN, NANO, POD, STAMP, TARGET, kept, kubernetes, rows
from tests.unit.ava.api.test_api_logs import _lines as lines
from tests.unit.ava.api.test_api_logs import _pieces as pieces
from tests.unit.ava.api.test_api_logs import _read as read

LATER = "2026-11-24T12:00:00.00000000{}Z"
SEPARATORS = "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\x85d\x0be\x0cf\x1cg"


def test_a_line_feed_alone_ends_a_record_of_a_store() -> None:
    # As the store writes them: without escapes.
    text = json.dumps({"_time": STAMP, "_msg": SEPARATORS, "pod": POD}, ensure_ascii=False)
    text += "\n" + rows(("2026-11-24T12:00:01Z", "next"))
    assert [x.text for x in asyncio.run(read(kept(httpx.Response(200, text=text))[0]))] == [
        SEPARATORS,
        "next",
    ]


@pytest.mark.parametrize(
    "bad", ["{", "[]", "7", '{"_msg": "x"}', '{"_time": "yesterday", "_msg": "x"}', "\x00"]
)
def test_a_record_that_cannot_be_read_hides_no_other(bad: str) -> None:
    text = f"{rows((STAMP, 'a'))}\n{bad}\n{rows(('2026-11-24T12:00:01Z', 'b'))}"
    assert [x.text for x in asyncio.run(read(kept(httpx.Response(200, text=text))[0]))] == ["a", "b"]


def test_a_blank_line_is_one() -> None:
    text = json.dumps({"_time": STAMP, "pod": POD})
    assert [x.text for x in asyncio.run(read(kept(httpx.Response(200, text=text))[0]))] == [""]
    assert [x.text for x in asyncio.run(lines(f"{STAMP} \n".encode()))] == [""]


def _records(*texts: bytes) -> bytes:
    """Return what Kubernetes answers for docker's records of one line."""
    stamped = [LATER.format(n).encode() + b" " + text for n, text in enumerate(texts, 1)]
    return b"".join(stamped) + b"\n"


FULL = (b"x " * RECORD)[:RECORD]
WRONG = "\N{REPLACEMENT CHARACTER}".encode()


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ((FULL, FULL, b"end"), FULL + FULL + b"end"),
        ((FULL, b""), FULL),
        # A user's own time at the same place is text.
        ((FULL, STAMP.encode() + b" mine"), FULL + STAMP.encode() + b" mine"),
        # What was no UTF-8 has become three bytes each.
        ((FULL[:-2] + WRONG * 2, WRONG + b" end"), FULL[:-2] + WRONG * 3 + b" end"),
        ((STAMP.encode() + b" " + FULL[31:], b"end"), STAMP.encode() + b" " + FULL[31:] + b"end"),
        ((b"short " + STAMP.encode() + b" x",), b"short " + STAMP.encode() + b" x"),
    ],
)
@pytest.mark.parametrize("piece", [7000, 2**20])
def test_a_line_of_several_records_is_one(texts: tuple[bytes, ...], whole: bytes, piece: int) -> None:
    stream = _records(*texts) + f"{STAMP} next\n".encode()
    cut = [stream[n : n + piece] for n in range(0, len(stream), piece)]
    found = asyncio.run(lines(*cut))
    assert [line.text for line in found] == [whole.decode(), "next"]
    assert found[0].nanoseconds == NANO + len(texts)


def test_a_line_of_which_a_source_knows_a_part_comes_once() -> None:
    whole = LogLine(NANO + 3, POD, "x" * RECORD + "end", (NANO + 1, NANO + 3))
    parts = [LogLine(NANO + 1, POD, "x" * RECORD), LogLine(NANO + 3, POD, "end")]
    blank = [LogLine(NANO + 4, POD, ""), LogLine(NANO + 4, POD, "stderr")]
    assert merged([*parts, whole, *blank], 10) == [whole, *blank]
    assert merged([whole, *parts], 10) == [whole]


def test_a_long_line_is_cut_between_two_characters_by_both_sources() -> None:
    text = "é" * LONGEST
    kept_line = asyncio.run(read(kept(httpx.Response(200, text=rows((STAMP, "a" + text))))[0]))[0]
    live_line = asyncio.run(lines(f"{STAMP} a{text}\n".encode()))[0]
    assert kept_line.text == live_line.text == "a" + "é" * (LONGEST // 2 - 1)


def test_a_secret_looks_the_same_while_a_run_lasts_and_afterwards() -> None:
    masks = Secrets([r"(?i)(password=)\S+", r"hf_\w+"])
    found = asyncio.run(_masked(masks, f"{STAMP} password=hunter22 and hf_abc\n".encode()))
    assert [line.text for line in found] == ["password=*** and ***"]


async def _masked(masks: Secrets, piece: bytes) -> list[LogLine]:
    return [line async for line in lines_of(pieces(piece), POD, masks)]


def test_of_many_long_lines_the_newest_come() -> None:
    written = [f"{STAMP[:-4]}{n:03}Z " + "y" * 60_000 for n in range(400)]
    asked = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(int(request.query["tailLines"]))
        body = "".join(f"{line}\n" for line in written[-asked[-1] :]).encode()[
            : int(request.query["limitBytes"])
        ]
        return web.Response(body=body)

    async def tail() -> Sequence[LogLine]:
        async with kubernetes(handle) as access:
            logs = LiveLogs({"default": access})
            found = await logs.read(TARGET, since=None, limit=400)
            await logs.close()
            return found

    found = asyncio.run(tail())
    assert found[-1].nanoseconds == NANO + 399
    assert asked == [408, 102]


def test_a_followed_log_that_falls_silent_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubelet 1.9 continues with the old file once docker has begun a new one."""
    monkeypatch.setattr(live, "_FOLLOWED", aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=0.2))
    calls = []

    async def handle(request: web.Request) -> web.StreamResponse:
        calls.append(request)
        reply = web.StreamResponse()
        await reply.prepare(request)
        await reply.write(f"{LATER.format(len(calls))} {len(calls)}\n".encode())
        await asyncio.sleep(5)
        return reply

    async def follow() -> list[str]:
        async with kubernetes(handle) as access:
            logs = LiveLogs({"default": access})
            found = []
            async for line in logs.follow(TARGET, lambda: TARGET.pods, since=BEGIN):
                found.append(line.text)
                if len(found) == 2:
                    break
            await logs.close()
            return found

    assert asyncio.run(asyncio.wait_for(follow(), 10)) == ["1", "2"]
