"""Approving disks: an entry in the site file, which otherwise stays as its author wrote it."""

from __future__ import annotations

import difflib
import io
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.util import load_yaml_guess_indent

from avadm.catalogue import finding
from avadm.disks.nodes import Disk
from avadm.errors import AvadmError
from avadm.findings import Finding, errors
from avadm.site.load import DRAFT, examine
from avadm.site.text import read_text


def refusals(disks: Sequence[Disk]) -> list[Finding]:
    """Return why disks cannot be approved: only one that is blank, or our OSD already, can."""
    return [
        finding(
            "disk-refused",
            where=disk.report["path"] or disk.report["real"],
            found="; ".join(disk.report["reasons"]),
            wanted="a disk that is proven blank, or an OSD of this cluster",
            host=disk.node,
        )
        for disk in disks
        if disk.report["state"] not in ("blank", "osd", "unfinished")
    ]


def unknown_kinds(disks: Sequence[Disk]) -> list[Finding]:
    """Return the disks of virtual machines whose kind the kernel does not know: a guess would choose their CRUSH class."""
    return [
        finding(
            "disk-class",
            where=disk.report["path"] or disk.report["real"],
            found="no device class",
            wanted="the class of what is behind it",
            host=disk.node,
        )
        for disk in disks
        if disk.report["rotational"] is None and not disk.report["kernel"].startswith("loop")
    ]


def entry(disk: Disk, device_class: str | None = None) -> dict[str, str]:
    """Return a disk's entry under ``devices``; its class as the kernel tells it where none is given."""
    made = dict(disk.report["approval"])
    if device_class is not None:
        made["device_class"] = device_class
    elif disk.report["rotational"]:
        made["device_class"] = "hdd"
    elif disk.report["kernel"].startswith("nvme"):
        made["device_class"] = "nvme"
    return made


def edited(text: str, node: str, entries: Sequence[dict[str, str]]) -> str:
    """Return a site file's text with devices added to a node; comments, quotes and order stay.

    Raises:
        KeyError: the file has no such node (of its own: it may come from an anchor).
    """
    _, indent, offset = load_yaml_guess_indent(text)
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=indent or 4, offset=offset if offset is not None else 2)
    data: Any = yaml.load(text)
    base = _dump(yaml, data)
    found = next((n for n in data["nodes"] if n["name"] == node), None)
    if found is None:
        raise KeyError(node)
    if not found.get("devices"):
        found["devices"] = CommentedSeq()
    for one in entries:
        made = CommentedMap(one)
        found["devices"].append(made)
    return _merged(text, base, _dump(yaml, data))


def _dump(yaml: YAML, data: Any) -> str:
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


def _merged(text: str, base: str, new: str) -> str:
    """Return a text with what differs between its round trip (base) and the edited one (new).

    The round trip alone would spell some of what it leaves alone in its own way (`null`, blanks, long lines).
    """
    lines, old, wanted = (t.splitlines(keepends=True) for t in (text, base, new))
    place: dict[int, int] = {}
    for block in difflib.SequenceMatcher(None, old, lines, autojunk=False).get_matching_blocks():
        place |= {block.a + n: block.b + n for n in range(block.size)}
    for tag, i1, i2, j1, j2 in reversed(
        difflib.SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes()
    ):
        if tag == "equal":
            continue
        at = [place.get(n) for n in (range(i1, i2) or [i1 - 1])]
        if None in at:
            return new
        first = at[0] + (1 if tag == "insert" else 0)  # type: ignore[operator]
        lines[first : first + i2 - i1] = wanted[j1:j2]
    return "".join(lines)


def approve(path: Path, node: str, entries: Sequence[dict[str, str]]) -> str:
    """Write approvals into a site file and return the difference, as a unified diff.

    Raises:
        AvadmError: the file cannot be read or written, or would not be good any more; then it is as before.
    """
    before = read_text(path)
    after = edited(before, node, entries)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".yml", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        made.chmod(stat.S_IMODE(path.stat().st_mode))
        good, findings = examine(made, DRAFT)
        if good is None:
            raise AvadmError(errors(findings))
        # A link stays a link: what it leads to is written.
        made.replace(path.resolve())
    except OSError as error:
        raise AvadmError.of("site-unwritable", where=str(path), found=error.strerror or str(error)) from error
    finally:
        made.unlink(missing_ok=True)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), path.name, path.name, n=2
    )
    return "".join(lines)
