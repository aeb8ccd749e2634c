"""Applies unified differences to a source tree, strictly: every line has to be where the difference says it is."""

from __future__ import annotations

import re
from pathlib import Path

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class DifferenceError(ValueError):
    """A difference does not fit; the text says where."""


def apply(text: str, root: Path) -> list[Path]:
    """Apply the differences of a text to the files below a folder, which they name; return the files.

    Raises:
        DifferenceError: a line is another one than the difference says, or a file is not there (or already there).
    """
    changed = []
    for part in re.split(r"(?m)^(?=--- )", text)[1:]:
        lines = part.splitlines(keepends=True)
        old, new = (line[4:].split("\t")[0].strip() for line in lines[:2])
        path = root / new
        if old == "/dev/null":
            if path.exists():
                raise DifferenceError(f"{new} is there already")
            before: list[str] = []
        elif path.is_file():
            before = path.read_text(encoding="utf-8").splitlines(keepends=True)
        else:
            raise DifferenceError(f"{new} is not there")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(_applied(before, lines[2:], new)), encoding="utf-8")
        changed.append(path)
    if not changed:
        raise DifferenceError("it changes no file")
    return changed


def _applied(before: list[str], lines: list[str], name: str) -> list[str]:
    """Return a file's lines with the hunks of ``lines`` applied."""
    after: list[str] = []
    at = 0  # how many lines of before are done
    for line in lines:
        if hunk := _HUNK.match(line):
            # Of an empty range the number is that of the line before it.
            start = int(hunk[1]) - (hunk[2] != "0")
            if not at <= start <= len(before):
                raise DifferenceError(f"{name} has no line {hunk[1]}")
            after += before[at:start]
            at = start
        elif line[0] == "+":
            after.append(line[1:])
        elif line[0] in " -":
            if at >= len(before) or before[at] != line[1:]:
                found = before[at].rstrip("\n") if at < len(before) else "the end"
                raise DifferenceError(f"{name}:{at + 1} is {found!r}, wanted {line[1:].rstrip()!r}")
            after += [line[1:]] if line[0] == " " else []
            at += 1
        elif line.startswith("diff "):
            break
    return after + before[at:]
