"""The register of known holes, register.yml: what is open here, what closes it, and what shows that it does."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator
from ruamel.yaml import YAML

RiskState = Literal["patched", "newer", "mitigated", "not-applicable", "open"]
STATES: dict[RiskState, str] = {
    "patched": "a patch of our own, in the program that avadm builds",
    "newer": "the pinned version has upstream's fix",
    "mitigated": "the hole is there, but cannot be reached or gives nothing here, for the reason named",
    "not-applicable": "what has the hole is not in this version, or not used here",
    "open": "it is there; the reason and what would close it are named",
}


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Evidence(_Data):
    """What a running node has to show; the doctor compares (check ``known-holes``).

    Attributes:
        commit: what hyperkube says of its source.
        flags: server to flag to its value, as its command line has it.
        rules: table of iptables to rules that it has, as ``iptables -S`` writes them.
        packages: Debian package to the least version, by system (``Debian 12``); other systems are not asked.
    """

    commit: str = ""
    flags: dict[str, dict[str, str]] = {}
    rules: dict[str, tuple[str, ...]] = {}
    packages: dict[str, dict[str, str]] = {}


class Risk(_Data):
    """One known hole, or several that one thing closes.

    Attributes:
        ids: CVE numbers.
        component: what has it.
        title: what it is.
        exposed: who could use it here, and for what.
        state: see STATES.
        by: what closes it: patch, task, setting; for what is open, why it is and what would.
        shown: tests and checks that show it: paths in the repository, ``suite cis 1.1.1``, ``doctor CHECK``.
        asked: what a running node has to show.
    """

    ids: tuple[str, ...]
    component: str
    title: str
    exposed: str
    state: RiskState
    by: str
    shown: tuple[str, ...] = ()
    asked: Evidence | None = None

    @model_validator(mode="after")
    def _is_shown(self) -> Risk:
        if self.state in ("patched", "mitigated") and not self.shown:
            raise ValueError("an entry marked as closed has no evidence")
        return self


@cache
def register() -> tuple[Risk, ...]:
    """Return the register, in the file's order."""
    data = YAML(typ="safe").load((files("avadm.risks") / "register.yml").read_text(encoding="utf-8"))
    return tuple(Risk.model_validate(row) for row in data)


def rules() -> dict[str, list[str]]:
    """Return table of iptables to all rules that the register asks for."""
    found: dict[str, list[str]] = {}
    for risk in register():
        for table, wanted in (risk.asked.rules if risk.asked else {}).items():
            found.setdefault(table, []).extend(wanted)
    return found


def least_packages(system: str) -> dict[str, str]:
    """Return package to the least version that the register asks for on a system (``Debian 12``)."""
    found: dict[str, str] = {}
    for risk in register():
        for package, versions in (risk.asked.packages if risk.asked else {}).items():
            if system in versions:
                found[package] = versions[system]
    return found
