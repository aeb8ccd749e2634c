r"""Lines of a stream of bytes: split at ``\n`` alone.

`str.splitlines` and `iter_lines` of HTTP clients also split at U+2028, U+2029, U+0085, form feeds and others, all of which a
line of a log and a JSON document may hold.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator


class Lines:
    """Puts lines together from the pieces of a stream."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, piece: bytes) -> list[bytes]:
        """Return the lines that this piece ends."""
        *whole, self._rest = (self._rest + piece).split(b"\n")
        return whole

    def last(self) -> list[bytes]:
        """Return the line that the stream's end has ended, if there is one."""
        return [self._rest] if self._rest else []


def lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream without their ends."""
    made = Lines()
    for piece in pieces:
        yield from made.add(piece)
    yield from made.last()


async def lines_async(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream without their ends."""
    made = Lines()
    async for piece in pieces:
        for line in made.add(piece):
            yield line
    for line in made.last():
        yield line
