"""Standard output and error that may go away (`| head`, a full disk): the work continues, `main` tells at its end."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Stream(io.FileIO):
    """A standard stream: what can no longer be written goes nowhere, and no caller notices.

    Attributes:
        trouble: why it takes no more; None where it does, or where only its reader went away.
    """

    trouble: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write as far as possible; return the bytes that are done with."""
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.trouble = error
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return super().write(data)


def guard() -> Stream | None:
    """Put such streams in the place of Python's own; return that of standard output, None where there is none."""
    guarded: dict[str, Stream] = {}
    for name in ("stdout", "stderr"):
        own = getattr(sys, name)
        # Not what a test, or anyone who calls us, has put there.
        if own is not None and own is getattr(sys, f"__{name}__"):
            guarded[name] = Stream(own.fileno(), "w", closefd=False)
            buffer = io.BufferedWriter(guarded[name])
            text = io.TextIOWrapper(
                buffer, own.encoding, "backslashreplace", line_buffering=own.line_buffering
            )
            setattr(sys, name, text)
    return guarded.get("stdout")
