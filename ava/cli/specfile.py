"""Files that describe what is started: YAML or JSON, all that is wrong reported at once, each with its line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from ava.cli import yaml_nodes
from ava.domain.compat import dataclass
from ava.domain.problems import ApiError, Problem
from ava.domain.spec import Name, Spec
from ava.schemas import validation

LARGEST = 2**20
"""Bytes of a file."""
MOST_CORES = 1000
"""A plain number from here on was meant as thousandths of a core, as the API has them."""
AMOUNTS = ("gpu", "cpu", "memory", "cpu_limit", "memory_limit")
"""Fields of a pod that may be written at the top where a file has no roles."""
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

    def placed(self, refused: ApiError) -> ApiError:
        """Return what the server says with places in this file."""
        return ApiError(refused.status, *(self._placed(p) for p in refused.problems))

    def _placed(self, problem: Problem) -> Problem:
        place = re.sub(r"^body\.(spec\.)?", "", problem.where)
        return replace(problem, where=at(self.path, self.lines, place)) if place != problem.where else problem


def load(path: Path, name: str | None = None) -> SpecFile:
    """Return a file's definition; ``-`` is standard input.

    The file has the fields of a definition and ``name``. Memory may be written as ``8GiB``; CPU is in cores (``16``, ``1.5``,
    ``500m``). Where there are no roles, ``gpu``, ``cpu`` and ``memory`` of the one pod may be written at the top.

    Raises:
        ApiError: with everything that is wrong, by line.
    """
    text = _read(path)
    try:
        data, lines, twice = yaml_nodes.read(text, words="env")
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
    if not isinstance(data, dict):
        raise _refused(
            "file-invalid",
            "The file holds no definition.",
            str(path),
            type(data).__name__,
            "image, command and so on",
        )
    if twice:
        raise ApiError(422, *(_duplicate(str(path), *one) for one in twice))
    found = _checked(str(path), data, lines, name)
    if isinstance(found, SpecFile):
        return found
    raise ApiError(422, *found)


def _checked(
    path: str, data: dict[Any, Any], lines: Mapping[str, int], name: str | None
) -> SpecFile | list[Problem]:
    """Return the definition, or all that is wrong."""
    spec = {str(k): v for k, v in data.items() if k != "name"}
    lines = dict(lines)
    _one_pod(spec, lines)
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


def _duplicate(path: str, key: str, line: int, first: int) -> Problem:
    return Problem(
        "key-twice",
        f"Duplicate key {validation.shown(key)}.",
        f"{path}:{line}",
        f"the key again; first at line {first}",
        "each key once",
        "Put the values of both into one, or remove one of them.",
    )


def _one_pod(spec: dict[str, Any], lines: dict[str, int]) -> None:
    """Move the amounts at the top to the one role of a file without roles; beside roles they stay, to be refused."""
    mine = [key for key in AMOUNTS if key in spec]
    if not mine or "roles" in spec:
        return
    spec["roles"] = [{"each": {key: spec.pop(key) for key in mine}}]
    lines |= {f"roles[0].each.{key}": lines[key] for key in mine if key in lines}


def amounts(spec: dict[str, Any]) -> None:
    """Replace amounts that are written for people by numbers; what is none is left for the check."""
    roles, seen = spec.get("roles"), set[int]()
    for role in roles if isinstance(roles, list) else []:
        each = role.get("each") if isinstance(role, dict) else None
        # What an alias repeats is one object.
        if isinstance(each, dict) and id(each) not in seen:
            seen.add(id(each))
            for key, read in (("memory", memory), ("memory_limit", memory), ("cpu", cpu), ("cpu_limit", cpu)):
                value = each.get(key)
                if isinstance(value, str):
                    each[key] = read(value) or value
                elif read is cpu and isinstance(value, (int, float)) and not isinstance(value, bool):
                    each[key] = _cores(value)


def _cores(value: float) -> int | str:
    """Return thousandths of a core; a number that can be no cores as text, for the check to refuse."""
    return round(value * 1000) if 0 < value < MOST_CORES else f"{value} cores"


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


def _refused(code: str, what: str, where: str, found: str, wanted: str) -> ApiError:
    return ApiError(400, Problem(code, what, where, found, wanted, "Correct the file, or name another one."))


__all__: Sequence[str] = ["SpecFile", "amounts", "cpu", "load", "memory"]
