"""The controls as data: what is read, what is expected, and which may fail for a reason."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from pydantic import model_validator

from avadm_validation import data
from avadm_validation.protocol.model import Class, Criterion, Model

Role = Literal["master", "etcd", "node"]
Rule = Literal["is", "nonzero", "set", "unset", "has", "lacks", "at-least"]
SECTIONS = {
    "1.1": ("API server", "API 服务器"),
    "1.2": ("scheduler", "调度器"),
    "1.3": ("controller-manager", "控制器管理器"),
    "1.4": ("files of the control plane", "控制平面文件"),
    "1.5": ("etcd", "etcd"),
    "2.1": ("kubelet", "kubelet"),
    "2.2": ("files of nodes", "节点文件"),
}
"""Number of each section to its title, English and Chinese."""


class Control(Model):
    """One control; controls.yml says what its fields mean."""

    id: str
    """Number in the benchmark."""
    title: str
    """What should be so, in a few words."""
    role: Role
    """Nodes on which it is looked at."""
    scored: bool = True
    """Whether the benchmark scores it; one that it does not is shown and not judged."""
    process: str = ""
    """Process whose arguments are read."""
    flags: tuple[str, ...] = ()
    """Arguments that are read, each of which must be as expected."""
    gate: str = ""
    """Feature gate in the argument."""
    rule: Rule = "set"
    """How the argument is compared."""
    value: str = ""
    """With what."""
    unset: Literal["good", "bad"] = "bad"
    """What the absence of the argument is."""
    files: tuple[str, ...] = ()
    """Files of which mode or owner is read."""
    mode: str = ""
    """Octal: the most that it may be."""
    owner: str = ""
    """USER:GROUP."""
    encryption: str = ""
    """First provider of encryption for secrets."""
    remedy: str = ""
    """What to do."""

    @model_validator(mode="after")
    def _one_kind(self) -> Control:
        kinds = [
            bool(self.flags and self.process),
            bool(self.files and (self.mode or self.owner)),
            bool(self.encryption),
        ]
        if sum(kinds) != 1:
            raise ValueError(f"control {self.id}: wanted one of process and flags, files, encryption")
        return self

    @property
    def section(self) -> str:
        """The section that it belongs to, e.g. ``1.1``."""
        return ".".join(self.id.split(".")[:2])

    @property
    def wanted(self) -> str:
        """What is expected, in a phrase."""
        if self.encryption:
            return f"first provider for secrets {self.encryption}"
        if self.files:
            return f"mode {self.mode} at most" if self.mode else f"owner {self.owner}"
        words = {"set": "set", "unset": "not set", "is": f"= {self.value}", "nonzero": "not 0"}
        words |= {
            "has": f"with {self.value}",
            "lacks": f"without {self.value}",
            "at-least": f">= {self.value}",
        }
        names = " and ".join(f"--{f}" for f in self.flags)
        return f"{self.process} {names}{f' {self.gate}' if self.gate else ''} {words[self.rule]}"


def _read(name: str) -> Any:
    return data.read("avadm_validation.suites.cis", name)


@cache
def controls() -> dict[str, Control]:
    """Return all controls by number, in the benchmark's order."""
    found = [Control.model_validate(one) for one in _read("controls.yml")["controls"]]
    ordered = sorted(found, key=lambda c: [int(n) for n in c.id.split(".")])
    return {c.id: c for c in ordered}


@cache
def exceptions() -> dict[str, str]:
    """Return which controls may fail, by number, with the reason; ValueError for a number that is no scored control."""
    found = {
        str(number): re.sub(r"\s+", " ", reason).strip() for number, reason in _read("exceptions.yml").items()
    }
    strange = [n for n in found if n not in controls() or not controls()[n].scored or not found[n]]
    if strange:
        raise ValueError(f"exceptions.yml: no scored control with a reason: {', '.join(strange)}")
    return found


def criteria(class_: Class) -> list[Criterion]:
    """Return what judges: no node on which a scored control fails."""
    return [
        Criterion(
            id=f"CIS-{c.section}.{c.id}",
            check=f"CIS-{c.section}",
            metric=c.id,
            unit="nodes",
            op="==",
            threshold=0,
            rule="each",
            scope="cluster",
            method=f"read on each {c.role}: {c.wanted}",
            class_=class_,
            text=c.title,
            excepted=exceptions().get(c.id, ""),
        )
        for c in controls().values()
        if c.scored
    ]
