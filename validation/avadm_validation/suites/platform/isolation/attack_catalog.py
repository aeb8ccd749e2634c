"""The attacks, filled in by what is there, and how they are handed to the program that tries them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

HERE = files(__package__)
CHECKS = ("A-SC3", "A-SC6")
CONTROLS = ("node", "victim", "operator")
_LOADER = "import sys,zlib,base64;exec(zlib.decompress(base64.b85decode(sys.argv.pop(1))))"


@dataclass(frozen=True)
class Attack:
    """An attempt that must not get through from a tenant's container.

    Attributes:
        check: A-SC3 (disturbs, sees GPUs) or A-SC6 (files).
        how: a function of attacker.py, ``with_`` its arguments.
        control: where the same attempt must get through: one of CONTROLS, or the name of a node.
        gpu: tried by containers with GPUs alone.
        machine: a node that is itself a container keeps it from its own root, so that its control gets through on machines alone.
        undo: a command on the node after the control.
    """

    id: str
    check: str
    how: str
    control: str
    with_: tuple[Any, ...] = ()
    gpu: bool = False
    machine: bool = False
    undo: str = ""

    def row(self) -> dict[str, Any]:
        """Return it as the program reads it."""
        return {"id": self.id, "try": self.how, "with": list(self.with_)}


def attacks(words: Mapping[str, object]) -> list[Attack]:
    """Return the list with its words filled in; KeyError for a word that is not given."""
    found = []
    for row in yaml.safe_load((HERE / "attacks.yml").read_text(encoding="utf-8")):
        given = dict(row)
        filled = tuple(_filled(value, words) for value in given.pop("with", []))
        found.append(
            Attack(
                given.pop("id"),
                given.pop("check"),
                given.pop("try"),
                str(_filled(given.pop("control"), words)),
                filled,
                **given,
            )
        )
    return found


def _filled(value: object, words: Mapping[str, object]) -> object:
    if not isinstance(value, str):
        return value
    # A word alone keeps its type: numbers are numbers.
    if value.startswith("{") and value.endswith("}") and value.count("{") == 1:
        return words[value[1:-1]]
    return value.format_map(words)


def command(rows: Iterable[Attack], *, stays: bool = False) -> list[str]:
    """Return the command that tries them, short enough for the arguments of a run (4,096 characters each).

    Args:
        rows: what is tried.
        stays: whether it is there until it is ended, so that it can be looked at from outside.
    """
    program = (HERE / "attacker.py").read_bytes()
    loader = f"{_LOADER};import time;time.sleep(3600)" if stays else _LOADER
    return ["python3", "-c", loader, _packed(program), _packed(_json(rows))]


def _json(rows: Iterable[Attack]) -> bytes:
    return json.dumps([row.row() for row in rows]).encode()


def _packed(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data, 9)).decode("ascii")
