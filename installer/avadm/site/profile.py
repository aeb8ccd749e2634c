"""Version profiles (design 7): data files that name versions, packages and capabilities, never branches."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict
from ruamel.yaml import YAML

from avadm.errors import AvadmError
from avadm.site.model import Hardware, HardwareRole, RoleName


class Source(BaseModel):
    """Where packages come from, by whom they are made.

    Attributes:
        what: in words; which address it has is the site's (packages.sources of the site file).
        packages: names of packages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    packages: list[str]


class Profile(BaseModel):
    """What a profile file holds.

    Attributes:
        name: the profile's name.
        os: distribution, release and kernel that every node must run ("" = any, but all equal).
        glibc: the C library of that release; no artifact may need a newer one.
        systemd: its release; no unit may have what only a later one knows.
        python: interpreter on the nodes.
        ceph_python: interpreter that has ceph's bindings; None where that is ``python`` too.
        versions: component to version prefix, compared with what runs (I7).
        packages: Ansible role name to the package names that it installs.
        sources: name to a package source, where packages come from others than the distribution.
        hardware: role to the least that its machines have (P3 to P10).
        counts: role to the numbers of nodes that the specification knows.
        features: capability to choice, e.g. ``ceph_osd_backend: lvm``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    os: dict[str, str]
    glibc: str
    systemd: int
    python: str = "/usr/bin/python3"
    ceph_python: str | None = None
    versions: dict[str, str]
    packages: dict[str, list[str]]
    sources: dict[str, Source] = {}
    hardware: dict[HardwareRole, Hardware] = {}
    counts: dict[RoleName, list[int]] = {}
    features: dict[str, Any]

    def source_of(self, package: str) -> str:
        """Return the name of the source of a package (NAME or NAME=VERSION); "" where that is the distribution."""
        name = package.partition("=")[0]
        return next((one for one, source in self.sources.items() if name in source.packages), "")


def names() -> list[str]:
    """Return the names of the profiles that ship with avadm."""
    folder = files("avadm.site") / "profiles"
    return sorted(p.name.removesuffix(".yml") for p in folder.iterdir() if p.name.endswith(".yml"))


def load(name: str) -> Profile:
    """Return a profile by name; AvadmError where there is none of that name."""
    source = files("avadm.site") / "profiles" / f"{name}.yml"
    if not source.is_file():
        raise AvadmError.of(
            check="unknown-profile",
            what=f"There is no profile {name!r}.",
            where="profile",
            found=name,
            wanted=", ".join(names()),
        )
    return _read(name).model_copy(deep=True)


@cache
def _read(name: str) -> Profile:
    """Return a profile that is there; its file is read once in a process, since reading takes longer than all else."""
    text = (files("avadm.site") / "profiles" / f"{name}.yml").read_text()
    return Profile.model_validate({"name": name, **YAML(typ="safe").load(text)})
