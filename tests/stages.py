"""The stages of `make test-full`: everything that is tested, in parts of which each is passed or repeated as a whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.lab.tiers import TIERS, collected

ROOT = Path(__file__).resolve().parents[1]
BIN = ".venv/bin"
HOUR = 3600.0
DOWN = (f"{BIN}/avadm", "lab", "down")
TOGETHER = {"site": "engine"}
"""Area to the one that it runs with: both look at the same second run, which takes minutes."""


def _beside(folder: str) -> dict[str, str]:
    """Return the environment of a lab beside the usual one."""
    return {"AVADM_LAB_DIR": str(ROOT / folder), "AVADM_SITE": str(ROOT / folder / "site.yml")}


@dataclass(frozen=True)
class Lab:
    """What stages run on: ``install`` brings it up and puts back what is missing, ``down`` removes it; () where nothing does."""

    install: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


LABS = {
    "": Lab(),
    "lab": Lab(("scripts/lab-install",), DOWN),
    "ha": Lab(
        ("scripts/lab-install", "--masters", "3", "--storage", "0", "--compute", "2"),
        DOWN,
        tuple(_beside(".lab-ha").items()),
    ),
    "bullseye": Lab((), DOWN, tuple(_beside(".lab-bullseye").items())),
}


@dataclass(frozen=True)
class Stage:
    """One part: a command that passes with exit status 0 within ``limit_s``."""

    name: str
    argv: tuple[str, ...]
    lab: str = ""
    limit_s: float = 2 * HOUR

    @property
    def file(self) -> str:
        """The name of its files."""
        return re.sub(r"[^a-z0-9]+", "-", self.name)

    @property
    def env(self) -> dict[str, str]:
        """The environment that its lab wants."""
        return {**os.environ, **dict(LABS[self.lab].env)}


def stages() -> list[Stage]:
    """Return all stages in their order, those of one lab one after the other."""
    return [
        Stage("lint", ("scripts/lint",)),
        Stage("unit", ("make", "--no-print-directory", "unit")),
        Stage("unit slow", (f"{BIN}/pytest", "tests/unit", "-m", "slow")),
        Stage("platform", ("scripts/test-platform",)),
        Stage("platform faults", ("scripts/test-platform", "platform and slow")),
        Stage("core", pytest("core", "tests/lab"), "lab"),
        *_areas("full"),
        Stage("acceptance run", (f"{BIN}/avadm", "accept", "run", "--effort", "quick"), "lab"),
        *_areas("faults"),
        Stage("ha faults", pytest("faults", "tests/lab/kubernetes"), "ha", 3 * HOUR),
        Stage("bullseye", ("make", "--no-print-directory", "test-bullseye"), "bullseye", 3 * HOUR),
        Stage("molecule", ("make", "--no-print-directory", "molecule"), "", 3 * HOUR),
    ]


def pytest(tier: str, *paths: str) -> tuple[str, ...]:
    """Return the command that runs a tier's tests below some paths."""
    return (f"{BIN}/pytest", *paths, "-m", TIERS[tier])


def _areas(tier: str) -> Iterator[Stage]:
    """Yield a stage for each folder of tests/lab that has tests of a tier."""
    areas: dict[str, set[str]] = {}
    for test in collected()[tier]:
        folder = test.split("/")[2]
        areas.setdefault(TOGETHER.get(folder, folder), set()).add(f"tests/lab/{folder}")
    for area, paths in sorted(areas.items()):
        yield Stage(f"{tier} {area}", pytest(tier, *sorted(paths)), "lab", 3 * HOUR)
