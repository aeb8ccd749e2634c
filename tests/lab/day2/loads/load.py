"""What all loads share: a load is at work while its block lasts; afterwards each of its clients has a result."""

import contextlib

from tests.lab.day2.loads.stream import Stream


class Load:
    """Clients that are at work together, each a context manager that is given its stream.

    At the end of the block all clients end, what was acknowledged is read back, and what they made is removed; where the
    block raises, nothing is read back and the rest happens all the same.

    Args:
        letter: S, K, A or Q.
        parts: name of each client to the function that runs it; the client reads back itself when its block ends.
    """

    def __init__(self, letter, parts):
        self.letter, self.parts = letter, parts
        self.streams = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self.streams = {name: Stream(self.letter, name) for name in self.parts}
        with contextlib.ExitStack() as stack:
            for name, part in self.parts.items():
                stack.enter_context(part(self.streams[name]))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        try:
            self._stack.__exit__(*error)
        finally:
            for stream in self.streams.values():
                stream.end()

    def results(self):
        """Return the result of each client, once the block has ended."""
        return [stream.result() for stream in self.streams.values()]

    def good(self, pauses=None, may_fail=()):
        """Assert that there was no error, nothing is lost, and no pause was longer than wanted; return it in words.

        Args:
            pauses: longest pause in seconds by the client's name; one that is not named may pause for any time.
            may_fail: clients that may have errors; what was acknowledged to them must not be lost either.
        """
        found = self.results()
        bad = [
            one
            for one in found
            if one.lost or not one.acknowledged or (one.errors and one.stream not in may_fail)
        ]
        bad += [one for one in found if one.pause_s > (pauses or {}).get(one.stream, float("inf"))]
        assert not bad, "\n".join(f"{one}\n  lost: {one.lost[:5]}\n  errors: {one.errors[:5]}" for one in bad)
        return "; ".join(map(str, found))


@contextlib.contextmanager
def together(loads):
    """Keep several loads at work; all of them end with the block."""
    with contextlib.ExitStack() as stack:
        for load in loads:
            stack.enter_context(load)
        yield loads
