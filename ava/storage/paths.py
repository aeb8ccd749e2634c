"""Paths within a data set, as requests name them."""

from __future__ import annotations

from urllib.parse import quote_from_bytes, unquote_to_bytes

from ava.domain.names import shown
from ava.domain.problems import Problem, Refused

LONGEST = 4096
NAME = 255
"""Bytes of a path and of one name, as file systems have them."""


def parts(path: str, *, new: bool = False) -> list[bytes]:
    """Return the names of a path; ``new`` names may hold no control characters and have to be UTF-8.

    What is no plain letter may be percent-encoded (as answers have it), so that every name can be said, a line break in
    it among them. Refused 422 for ``..``, empty names and what is too long.
    """
    raw = unquote_to_bytes(path)
    names = raw.split(b"/") if raw else []
    wrong = (
        len(raw) > LONGEST
        or b"\0" in raw
        or any(name in (b"", b".", b"..") or len(name) > NAME for name in names)
        or (new and not all(map(_plain, names)))
    )
    if wrong or (new and not names):
        raise Refused(
            422,
            Problem(
                "path-invalid",
                "This is no path of a file in a data set.",
                "path",
                shown(path),
                "names with / between them: none empty, none . or .., each of at most 255 bytes"
                + (", in UTF-8, without control characters" if new else ""),
                "Correct the path.",
            ),
        )
    return names


def said(names: list[bytes]) -> str:
    """Return a path as it is answered, so that it can be sent back."""
    return "/".join(quote_from_bytes(name, safe="") for name in names)


def label(name: bytes) -> str:
    """Return a name for people."""
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name.decode("utf-8", "replace")
    )


def _plain(name: bytes) -> bool:
    try:
        return name.decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False
