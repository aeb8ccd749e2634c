"""Data files that ship with avadm, read once in a process however often they are asked for."""

from __future__ import annotations

import copy
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML


def read(package: str, name: str) -> Any:
    """Return what a YAML file of a package holds; a copy, which may be changed."""
    return copy.deepcopy(_read(package, name))


def efforts(package: str, kind: str, effort: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of each check of a suite (its ``effort.yml``) for a kind of target and an effort."""
    chosen = read(package, "effort.yml")[kind][effort]
    return {check: {**chosen["all"], **own} for check, own in chosen.items() if check != "all"}


@cache
def _read(package: str, name: str) -> Any:
    return YAML(typ="safe").load((files(package) / name).read_text(encoding="utf-8"))
