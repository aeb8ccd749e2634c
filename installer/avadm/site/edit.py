"""Editing a site file: one change, while the file otherwise stays as its author wrote it."""

from __future__ import annotations

import difflib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.util import load_yaml_guess_indent

from avadm.errors import AvadmError
from avadm.findings import Finding, errors
from avadm.site.load import DRAFT, SiteFile, examine
from avadm.site.text import read_text

Change = Callable[[Any], None]
"""Changes a site file's data in place."""
OF_ROLE = {"osd": ("devices",), "gpu": ("gpus",), "worker": ("local_volumes_gib",)}
"""Role to the keys of a node that have no meaning without it."""


def entry(data: Any, name: str) -> Any:
    """Return a node's entry; KeyError where the file has none of that name."""
    for one in data["nodes"]:
        if one["name"] == name:
            return one
    raise KeyError(name)


def adding(node: Mapping[str, Any]) -> Change:
    """Return the change that adds a node at the end of the list."""

    def change(data: Any) -> None:
        made = CommentedMap(node)
        for key in ("roles", "devices"):
            if key in made:
                made[key] = CommentedSeq(made[key])
        if "roles" in made:
            made["roles"].fa.set_flow_style()
        data["nodes"].append(made)

    return change


def removing(name: str) -> Change:
    """Return the change that removes a node; KeyError from it where there is none."""

    def change(data: Any) -> None:
        data["nodes"].remove(entry(data, name))

    return change


def removing_role(name: str, role: str) -> Change:
    """Return the change that takes a role from a node, with what only that role needs; KeyError where there is no node."""

    def change(data: Any) -> None:
        found = entry(data, name)
        found["roles"].remove(role)
        for key in OF_ROLE.get(role, ()):
            found.pop(key, None)

    return change


def giving_role(role: str, names: Collection[str]) -> Change:
    """Return the change after which these nodes and no others have a role; KeyError from it where one is not there."""

    def change(data: Any) -> None:
        for name in names:
            entry(data, name)
        for one in data["nodes"]:
            has = role in one["roles"]
            if one["name"] in names and not has:
                one["roles"].append(role)
            elif one["name"] not in names and has:
                one["roles"].remove(role)

    return change


def removing_log_store(name: str) -> Change:
    """Return the change that takes a node from the log stores; ValueError where it is none, KeyError without logs."""

    def change(data: Any) -> None:
        data["components"]["logs"]["stores"].remove(name)

    return change


def setting_devices(name: str, devices: Sequence[Mapping[str, str]]) -> Change:
    """Return the change that gives a node other devices in place of those that it has; KeyError where there is no node."""

    def change(data: Any) -> None:
        entry(data, name)["devices"] = CommentedSeq([CommentedMap(one) for one in devices])

    return change


def replacing(name: str, node: Mapping[str, Any], moved: Collection[str]) -> Change:
    """Return the change that adds a node beside the one that it replaces.

    Args:
        name: the one that is replaced; it stays until it is removed, without what may not be there twice.
        node: the entry of the new one.
        moved: the roles that the former one loses at once.
    """

    def change(data: Any) -> None:
        former = entry(data, name)
        for role in [one for one in former["roles"] if one in moved]:
            removing_role(name, role)(data)
        network = data.get("network") or {}
        logs = (data.get("components") or {}).get("logs") or {}
        named = [network.get("route_reflectors"), logs.get("stores")]
        named += [one.get("nodes") for one in (network.get("bgp") or {}).get("peers") or ()]
        for names in named:
            if names and name in names:
                names[names.index(name)] = node["name"]
        adding(node)(data)

    return change


def changed(text: str, change: Change) -> str:
    """Return a site file's text after a change; comments, quotes and order stay."""
    yaml, data = _loaded(text)
    change(data)
    return _merged(text, _unchanged(text), _dump(yaml, data))


def _loaded(text: str) -> tuple[YAML, Any]:
    """Return a site file's data, and what writes them with the indentation that the text has."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    data, indent, offset = load_yaml_guess_indent(text, yaml=yaml)
    yaml.indent(mapping=2, sequence=indent or 4, offset=offset if offset is not None else 2)
    return yaml, data


@lru_cache(maxsize=4)
def _unchanged(text: str) -> str:
    """Return a text's round trip without a change; an operation asks for that of one site file many times."""
    return _dump(*_loaded(text))


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


@contextmanager
def _beside(path: Path, text: str) -> Iterator[Path]:
    """Yield a file beside a site file with another text; it is removed at the end where it is still there."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".yml", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        yield made
    except OSError as error:
        raise AvadmError.of("site-unwritable", where=str(path), found=error.strerror or str(error)) from error
    finally:
        made.unlink(missing_ok=True)


def considered(path: Path, text: str) -> tuple[SiteFile | None, Sequence[Finding]]:
    """Return what a site file would be with another text, and what would be wrong with it; nothing stays written.

    The file may be a draft; the site file is None where something is wrong.
    """
    with _beside(path, text) as made:
        site_file, findings = examine(made, DRAFT)
    bad = [replace(one, where=one.where.replace(made.name, path.name)) for one in errors(findings)]
    return (replace(site_file, path=path) if site_file else None), bad


def write(path: Path, text: str) -> str:
    """Write a site file whole and return the difference, as a unified diff.

    Raises:
        AvadmError: it cannot be read or written, or would not be good any more; then it is as before.
    """
    before = read_text(path)
    with _beside(path, text) as made:
        made.chmod(stat.S_IMODE(path.stat().st_mode))
        good, findings = examine(made, DRAFT)
        if good is None:
            raise AvadmError(errors(findings))
        # A link stays a link: what it leads to is written.
        made.replace(path.resolve())
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), text.splitlines(keepends=True), path.name, path.name, n=2
    )
    return "".join(lines)
