"""Paths within a data set, as requests name them."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ava.domain.names import shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

LONGEST = 4096
NAME = 255
"""Bytes of a path and of one name, as file systems have them."""


def parts(path: str, *, new: bool = False) -> list[bytes]:
    """Return the names of a path; ``new`` names may hold no control characters and have to be UTF-8.

    What is no plain letter may be percent-encoded (as answers have it), so that every name can be expressed, a line break in
    it among them. ApiError 422 for ``..``, empty names and what is too long.
    """
    names = [unquote_to_bytes(name) for name in path.split("/")] if path else []
    whole = b"/".join(names)
    wrong = _wrong(names, new=new) if len(whole) <= LONGEST else f"{len(whole)} bytes"
    if wrong or (new and not names):
        raise ApiError(
            422,
            Problem(
                "path-invalid",
                Phrase("This is no path of a file in a data set."),
                "path",
                shown(path) + (f": {wrong}" if wrong else ""),
                "names with / between them: none empty, none . or .., each of at most 255 bytes, 4096 in all"
                + (", in UTF-8, without control characters" if new else ""),
                Phrase("Rename the file.") if new else Phrase("Correct the path."),
            ),
        )
    return names


def encode(names: list[bytes]) -> str:
    """Return a path as it is answered, so that it can be sent back."""
    return "/".join(quote_from_bytes(name, safe="") for name in names)


def label(name: bytes) -> str:
    """Return a name for people: without what would steer a terminal or turn the text around."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(c) else c for c in name.decode("utf-8", "replace"))


def _wrong(names: list[bytes], *, new: bool) -> str:
    """Return what is wrong with one of the names; "" for nothing."""
    for name in names:
        if name in (b"", b".", b".."):
            return "an empty name" if not name else f"the name {name.decode()}"
        if len(name) > NAME:
            return f"a name of {len(name)} bytes"
        if b"\0" in name or b"/" in name:
            return f"a name with {'a zero byte' if 0 in name else '/'} in it"
        if new:
            try:
                text = name.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"byte {error.start + 1} of a name is not UTF-8 (0x{name[error.start]:02x})"
            if found := next((c for c in text if unicodedata.category(c) == "Cc"), None):
                return f"a name with the control character U+{ord(found):04X}"
    return ""


def _steers(char: str) -> bool:
    """Return whether a character is shown as something else than itself."""
    category = unicodedata.category(char)
    return category in ("Cc", "Cs", "Zl", "Zp") or char in _TURNS


_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
