"""Through shipper and store as they are installed: a user's lines come out as they went in, and as Kubernetes shows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from ava.services.config import LogStore
from ava.services.logs.interface import LONGEST, RECORD, LogLine, Target, merged
from ava.services.logs.live import lines_of
from ava.services.logs.secrets import Secrets
from ava.services.logs.victoria import KeptLogs
from avadm.components.logs.variables import SECRETS
from tests.platform.logs.shipping import POD, Shipping, shipping

TARGET = Target("default", "ava-vision", "r1ilp5dnq7e1m-")
MASKS = Secrets(p.compiled().pattern for p in SECRETS)
# Each test's lines are a minute later than those of the one before.
LATER = (timedelta(minutes=n) for n in count())
SEPARATORS = "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\x85d\x0be\x0cf\x1cg\rh"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shipping]:
    with shipping(tmp_path_factory.mktemp("logs")) as made:
        yield made


def records(*lines: str, stream: str = "stdout") -> list[tuple[str, str, str]]:
    """Return docker's records of lines, one a millisecond from now on."""
    found = []
    begin = datetime.now(UTC) + next(LATER)
    for line in lines:
        rest = line.encode() + b"\n"
        while rest:
            piece, rest = rest[:RECORD], rest[RECORD:]
            at = (begin + timedelta(milliseconds=len(found))).strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z"
            found.append((at, stream, piece.decode("utf-8", "replace")))
    return found


async def _pieces(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


async def live(written: list[tuple[str, str, str]]) -> list[LogLine]:
    """Return what Kubernetes' own log endpoint makes of these records."""
    stream = b"".join(at.encode() + b" " + reply.encode() for at, _, reply in written)
    return [line async for line in lines_of(_pieces(stream), POD, MASKS)]


async def kept(url: str, since: datetime, wanted: int, last: str | None = None) -> list[LogLine]:
    """Return the lines once there are so many, and the last is this."""
    logs = KeptLogs([LogStore(name="s1", url=url)])
    try:
        for _ in range(100):
            found = list(await logs.read(TARGET, since=since, limit=10_000))
            if len(found) >= wanted and last in (None, found[-1].text):
                break
            await asyncio.sleep(0.3)
        return found
    finally:
        await logs.close()


@pytest.mark.parametrize(
    "lines",
    [
        ["one", "", "   ", "\t", SEPARATORS, "last"],
        [
            "</s>",
            "eos_token: </s>",
            "ACGT" * 16,
            "f" * 64,
            "e3b0c442" * 8,
            "A" * 70,
            '"quoted" \\ \\n \\u2028',
        ],
        ["password=hunter22", "token: hf_" + "aB3x" * 9, "aB3+" * 16],
        ["x " * RECORD, "y " * (RECORD // 2), "z" * RECORD + "end", "é" * RECORD, "short"],
        ["'\"\\" * RECORD, "<&>" * RECORD, "\x01" * RECORD, "short"],
        [
            "x " * LONGEST,
            "next",
            "é " * LONGEST,
            "next",
            "\x01\\" * LONGEST,
            "<" * 2 * LONGEST,
            "\\u" * 8 * LONGEST,
            "last",
        ],
        [f"step {n}: loss=0.{n}" for n in range(500)],
    ],
    ids=["separators", "no secrets", "secrets", "long", "long and escaped", "longer than is kept", "many"],
)
def test_kept_and_live_lines_are_the_same(both: Shipping, lines: list[str]) -> None:
    written = records(*lines)
    since = datetime.fromisoformat(written[0][0])
    both.write(written)
    shown = asyncio.run(live(written))
    found = asyncio.run(kept(both.url, since, len(lines)))
    assert [(x.nanoseconds, x.text[:200]) for x in found] == [(x.nanoseconds, x.text[:200]) for x in shown]
    assert [x.text for x in found] == [x.text for x in shown]
    assert merged([*found, *shown], 10_000) == found
    if max(map(len, lines)) < LONGEST and not any("***" in x.text for x in found):
        assert [x.text for x in found] == lines


def test_a_line_that_does_not_end_comes_when_nothing_more_does(both: Shipping) -> None:
    at, stream, reply = records("no end")[0]
    since = datetime.fromisoformat(at)
    both.write([(at, stream, reply.rstrip("\n"))])
    assert [x.text for x in asyncio.run(kept(both.url, since, 1))] == ["no end"]


def test_what_no_record_is_hides_no_other(both: Shipping) -> None:
    written = records("before", "after")
    since = datetime.fromisoformat(written[0][0])
    both.write(written[:1])
    with (
        (both.folder / "containers")
        .joinpath(next((both.folder / "containers").iterdir()).name)
        .open("ab") as file
    ):
        file.write(b'{"log":"cut\n\x00\xff nonsense\n{}\n')
    both.write(records("lost with it", "after"))
    found = [x.text for x in asyncio.run(kept(both.url, since, 2, "after"))]
    assert (found[0], found[-1]) == ("before", "after")
