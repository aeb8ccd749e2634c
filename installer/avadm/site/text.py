"""Reading a file that a person wrote: whatever is in the way is reported, never thrown as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from avadm.errors import AvadmError

MAX_BYTES = 4 * 1024 * 1024
"""A site of 256 nodes with 12 devices each is 0.15 MiB."""


def plain(text: str) -> str:
    """Return a text as a finding may show it: on one line, without control characters or a private key."""
    if not text:
        return "an empty text"
    if "PRIVATE KEY" in text:
        return "a private key (not shown)"
    return text if text.isprintable() else repr(text)


@dataclass(frozen=True)
class FileExpectation:
    """What a file should be, as its reader's messages say it.

    Attributes:
        what: such as "a site file".
        missing: what to do where it is not there.
    """

    what: str
    missing: str


SITE = FileExpectation("a site file", "Write one with `avadm site init`, or name it with --site.")


def read_text(path: Path, wanted: FileExpectation = SITE) -> str:
    """Return a file's text, UTF-8 with or without a byte order mark.

    Args:
        path: the file.
        wanted: what it should be.

    Raises:
        AvadmError: it is missing, unreadable, no ordinary file, too large, or not UTF-8 (exit code 2).
    """
    where = str(path)
    try:
        if path.is_dir():
            raise AvadmError.of("file-unreadable", where=where, found="a folder", wanted=wanted.what)
        if path.exists() and not path.is_file():
            raise AvadmError.of(
                "file-irregular", where=where, found="a pipe, socket or device", wanted=wanted.what
            )
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise AvadmError.of(
            "file-missing", where=where, found="nothing", wanted=wanted.what, remedy=wanted.missing
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AvadmError.of(
            "file-unreadable-error", where=where, found=reason, wanted="a file that this user may read"
        ) from error
    if len(raw) > MAX_BYTES:
        raise AvadmError.of(
            "file-too-large",
            where=where,
            found=f"more than {MAX_BYTES >> 20} MiB",
            wanted=f"at most {MAX_BYTES >> 20} MiB",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise AvadmError.of(
            "file-not-utf8", where=f"{where}:{line}", found=f"byte 0x{raw[error.start]:02x}", wanted="UTF-8"
        ) from error
