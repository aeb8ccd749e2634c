"""Files that describe what is started: YAML or JSON, all that is wrong told at once, each with its line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from ava.api import validation
from ava.domain.problems import Problem, Refused
from ava.domain.spec import Name, Spec

LARGEST = 2**20
"""Bytes of a file."""
_UNITS = {
    "": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKMGT]i?B|)$")
_CORES = re.compile(r"^(\d+(?:\.\d+)?)\s*(m|cores?|)$")
_MARKS = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class SpecFile:
    """What a file says.

    Attributes:
        lines: line of each field, by its place (``roles[0].replicas``).
    """

    path: str
    name: str
    spec: dict[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)

    def placed(self, refused: Refused) -> Refused:
        """Return what the server says with places in this file."""
        return Refused(refused.status, *(self._placed(p) for p in refused.problems))

    def _placed(self, problem: Problem) -> Problem:
        place = re.sub(r"^body\.(spec\.)?", "", problem.where)
        return replace(problem, where=at(self.path, self.lines, place)) if place != problem.where else problem


def load(path: Path, name: str | None = None) -> SpecFile:
    """Return a file's definition; ``-`` is standard input.

    The file has the fields of a definition and ``name``. Memory may be written as ``8GiB`` and CPU as ``1.5 cores``.

    Raises:
        Refused: with everything that is wrong, by line.
    """
    text = _read(path)
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise _refused(
            "file-invalid",
            "The file is neither YAML nor JSON.",
            where,
            str(getattr(error, "problem", error)),
            "YAML or JSON",
        ) from None
    except (ValueError, RecursionError) as error:
        raise _refused(
            "file-invalid", "The file cannot be understood.", str(path), str(error)[:200], "YAML or JSON"
        ) from None
    if not isinstance(data, dict) or node is None:
        raise _refused(
            "file-invalid",
            "The file holds no definition.",
            str(path),
            type(data).__name__,
            "image, command and so on",
        )
    lines: dict[str, int] = {}
    _mark(node, "", lines, set())
    found = _checked(str(path), data, lines, name)
    if isinstance(found, SpecFile):
        return found
    raise Refused(422, *found)


def _checked(
    path: str, data: dict[Any, Any], lines: Mapping[str, int], name: str | None
) -> SpecFile | list[Problem]:
    """Return the definition, or all that is wrong."""
    spec = {str(k): v for k, v in data.items() if k != "name"}
    amounts(spec)
    chosen = name if name is not None else data.get("name")
    errors: list[Any] = []
    for adapter, value, below in ((TypeAdapter(Name), chosen, ("name",)), (TypeAdapter(Spec), spec, ())):
        try:
            # As JSON has it, which is how it is sent: what YAML knows beyond that (times) is refused here.
            adapter.validate_json(_json(value), strict=True)
        except ValidationError as error:
            errors += [{**e, "loc": (*below, *e["loc"])} for e in error.errors(include_url=False)]
        except (TypeError, ValueError) as error:
            errors.append({"type": "value", "loc": below, "msg": str(error), "input": value})
    if not errors:
        return SpecFile(path, str(chosen), spec, lines)
    return [replace(p, where=at(path, lines, p.where)) for p in validation.problems(errors)]


def _json(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value)


def at(path: str, lines: Mapping[str, int], place: str) -> str:
    """Return ``FILE:LINE: PLACE``; the line of the nearest field around it where it has none itself."""
    near = place
    while near and near not in lines:
        cut = max(near.rfind("."), near.rfind("["))
        near = near[:cut] if cut > 0 else ""
    line = lines.get(near)
    return f"{path}:{line}: {place}" if line else f"{path}: {place}" if place else path


def _mark(node: yaml.Node, place: str, lines: dict[str, int], above: set[int]) -> None:
    """Note the line of every field."""
    if id(node) in above:
        return
    inside = above | {id(node)}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{place}.{key.value}" if place else str(key.value)
            lines[below] = key.start_mark.line + 1
            _mark(value, below, lines, inside)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[f"{place}[{i}]"] = value.start_mark.line + 1
            _mark(value, f"{place}[{i}]", lines, inside)


def amounts(spec: dict[str, Any]) -> None:
    """Replace amounts that are written for people by numbers; what is none is left for the check."""
    roles = spec.get("roles")
    for role in roles if isinstance(roles, list) else []:
        each = role.get("each") if isinstance(role, dict) else None
        if isinstance(each, dict):
            for key, read in (("memory", memory), ("memory_limit", memory), ("cpu", cpu), ("cpu_limit", cpu)):
                if isinstance(each.get(key), str):
                    each[key] = read(each[key]) or each[key]


def memory(text: str) -> int | None:
    """Return bytes of ``8GiB``, ``512 MiB`` …; None where it is no amount."""
    match = _SIZE.match(text.strip())
    factor = _UNITS.get(match[2].replace("KB", "kB")) if match else None
    return int(float(match[1]) * factor) if match and factor else None


def cpu(text: str) -> int | None:
    """Return thousandths of a core of ``2``, ``1.5 cores`` or ``500m``; None where it is no amount."""
    match = _CORES.match(text.strip())
    if not match:
        return None
    return int(float(match[1])) if match[2] == "m" else int(float(match[1]) * 1000)


def _read(path: Path) -> str:
    try:
        if str(path) == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise _refused(
                "too-large",
                "The file is too large.",
                str(path),
                f"more than {LARGEST} bytes",
                f"at most {LARGEST}",
            )
        return raw.decode("utf-8")
    except OSError as error:
        raise _refused(
            "file-unreadable", "The file cannot be read.", str(path), str(error.strerror), "a file"
        ) from error
    except UnicodeDecodeError as error:
        raise _refused(
            "file-invalid", "The file is not UTF-8.", str(path), f"byte {error.start}", "UTF-8"
        ) from error


def _refused(code: str, what: str, where: str, found: str, wanted: str) -> Refused:
    return Refused(400, Problem(code, what, where, found, wanted, "Correct the file, or name another one."))


__all__: Sequence[str] = ["SpecFile", "amounts", "cpu", "load", "memory"]
