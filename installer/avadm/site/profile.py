"""Version profiles (design 7): data files that name versions, packages and capabilities, never branches."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from avadm.errors import AvadmError
from avadm.site.model import Hardware, HardwareRole, RoleName


class Source(BaseModel):
    """Where packages come from, by whom they are made.

    Attributes:
        what: in words; which address it has is the site's (packages.sources of the site file).
        packages: names of packages, beside those of ``versions``; `*` stands for any characters.
        line: line of sources.list, used where the site file has no packages.sources; "" where the site must name the source.
        codename: of a release whose other packages must not be installed; "" where nothing of the source is held back.
        versions: package to the version pattern that is pinned, where the source has a codename.
        needs: package to further ones of the source that it cannot do without; `*` stands for any characters of their names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    packages: list[str] = []
    line: str = ""
    codename: str = ""
    versions: dict[str, str] = {}
    needs: dict[str, list[str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Count the packages with a version among the packages."""
        if isinstance(data, dict) and isinstance(versions := data.get("versions"), dict):
            named = data.get("packages", [])
            return {**data, "packages": [*named, *(p for p in versions if p not in named)]}
        return data

    def needed(self, packages: Collection[str]) -> list[str]:
        """Return what these packages need of the source."""
        wanted = [one for name, more in self.needs.items() if name in packages for one in more]
        found = [p for p in self.packages if any(fnmatchcase(p, one) for one in wanted)]
        return [*found, *(one for one in wanted if "*" not in one and one not in found)]

    @property
    def offered(self) -> list[str]:
        """The packages for which the source is used; the others only come along, also those that each node has."""
        along = set(self.needed(self.needs)) - set(self.needs)
        return [p for p in self.packages if p not in along]

    def only(self, packages: Collection[str]) -> Source:
        """Return the source for some packages, and what they need of it, alone."""
        packages = set(packages) - (set(self.packages) - set(self.offered))
        needs = {p: more for p, more in self.needs.items() if p in packages}
        kept = {*packages, *self.needed(packages)}
        # A pattern stays where it is asked for as one; else the names that it stands for take its place.
        named = sorted(p for p in kept.difference(self.packages) if self.has(p))
        return self.model_copy(
            update={
                "packages": [p for p in self.packages if p in kept] + named,
                "versions": {p: v for p, v in self.versions.items() if p in kept},
                "needs": needs,
            }
        )

    def has(self, package: str) -> bool:
        """Return whether a package of this name comes from there."""
        return any(fnmatchcase(package, pattern) for pattern in self.packages)


class Profile(BaseModel):
    """What a profile file holds.

    Attributes:
        name: the profile's name.
        os: distribution, release and kernel that every node must run ("" = any, but all equal).
        glibc: the C library of that release; no artifact may need a newer one.
        systemd: its release; no unit may have what only a later one knows.
        python: interpreter on the nodes.
        ceph_python: interpreter that has ceph's bindings; None where that is ``python`` too.
        versions: component to version prefix, compared with what runs.
        packages: Ansible role name to the package names that it installs.
        sources: name to a package source, where packages come from others than the distribution.
        hardware: role to the least that its machines have.
        counts: role to the numbers of nodes that the specification knows.
        kernel_arguments: role to the arguments that the kernel of a node with that role is booted with.
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
    kernel_arguments: dict[RoleName, list[str]] = {}
    features: dict[str, Any]

    @property
    def system(self) -> str:
        """The operating system of the nodes, e.g. ``Debian 12``."""
        return f"{self.os.get('distribution', '')} {self.os.get('release', '')}".strip()

    def arguments(self, roles: Iterable[str]) -> list[str]:
        """Return the kernel arguments of a node with these roles, sorted."""
        return sorted({a for role, many in self.kernel_arguments.items() if role in set(roles) for a in many})

    def with_component(self, programs: Collection[str], roles: Collection[str], other: Profile) -> Profile:
        """Return the profile with a component of another one: its versions, its packages, and their sources.

        Args:
            programs: the component's programs, as ``versions`` calls them.
            roles: the Ansible roles that install it.
            other: the profile that the component has.
        """

        def of(profile: Profile) -> list[str]:
            return plain(p for role in roles for p in profile.packages.get(role, ()))

        versions = {k: v for k, v in self.versions.items() if k not in programs}
        versions |= {k: other.versions[k] for k in programs if k in other.versions}
        packages = {k: v for k, v in self.packages.items() if k not in roles}
        packages |= {k: other.packages[k] for k in roles if k in other.packages}
        former = of(self)
        former += [one for source in self.sources.values() for one in source.needed(former)]
        # A source of both profiles serves what stays, too.
        sources = {
            name: source.only([p for p in source.packages if p not in former])
            for name, source in self.sources.items()
        }
        for name, source in other.sources.items():
            own = source.only(of(other))
            if own.packages:
                sources[name] = _joined(sources[name], own) if name in sources else own
        kept = {name: source for name, source in sources.items() if source.packages}
        return self.model_copy(update={"versions": versions, "packages": packages, "sources": kept})

    def releases(self) -> list[str]:
        """Return the releases of the distribution that a node may call its own: that of a source's base-files as well."""
        brought = [s.versions["base-files"] for s in self.sources.values() if "base-files" in s.versions]
        return [self.os.get("release", ""), *(version.partition(".")[0] for version in brought)]

    def source_of(self, package: str) -> str:
        """Return the name of the source of a package (NAME or NAME=VERSION); "" where that is the distribution."""
        name = package.partition("=")[0]
        return next((one for one, source in self.sources.items() if source.has(name)), "")


def plain(packages: Iterable[str]) -> list[str]:
    """Return the names of packages (NAME or NAME=VERSION)."""
    return [one.partition("=")[0] for one in packages]


def _joined(one: Source, other: Source) -> Source:
    """Return the packages of both; the rest is that of the second."""
    return other.model_copy(
        update={
            "packages": list(dict.fromkeys([*one.packages, *other.packages])),
            "versions": one.versions | other.versions,
            "needs": one.needs | other.needs,
        }
    )


def names() -> list[str]:
    """Return the names of the profiles that ship with avadm; one that begins with _ is only inherited."""
    folder = files("avadm.site") / "profiles"
    found = (p.name for p in folder.iterdir())
    return sorted(n.removesuffix(".yml") for n in found if n.endswith(".yml") and not n.startswith("_"))


def is_path(name: str) -> bool:
    """Return whether a site file's `profile` is the path of a file rather than a name."""
    return "/" in name or name.endswith(".yml")


def load(name: str) -> Profile:
    """Return a profile by name; AvadmError where there is none of that name."""
    if name not in names():
        raise AvadmError.of(
            "unknown-profile-profile", where="profile", found=name, wanted=", ".join(names()), name=name
        )
    return _read(name).model_copy(deep=True)


def load_file(path: Path) -> Profile:
    """Return the profile of a file of the site's own, which usually inherits one that ships with avadm.

    Raises:
        AvadmError: the file cannot be read, or does not hold a profile.
    """

    def bad(found: str, remedy: str, where: str = "") -> AvadmError:
        return AvadmError.of(
            "profile-file",
            where=f"{path}{where}",
            found=found,
            wanted=f"`inherits: NAME` (one of {', '.join(names())}) and the keys that differ from it",
            remedy=remedy,
        )

    try:
        data = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise bad(error.strerror or str(error), "Correct the path of `profile` in the site file.") from error
    except (UnicodeDecodeError, YAMLError) as error:
        # The reason alone: the text around it may be of a file that holds secrets.
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "it is not text"
        raise bad(f"invalid YAML: {why}", "Correct the file.", f":{mark.line + 1}" if mark else "") from error
    if not isinstance(data, dict):
        raise bad("no mapping", "Write it as keys and values.")
    base = data.get("inherits")
    if base is not None and base not in names():
        raise bad(f"inherits: {base}", "Inherit a profile that ships with avadm.")
    if "name" in data:
        raise bad("name", "Remove this key: the file's own name is the profile's.")
    for key in ("versions", "packages", "features"):
        if not isinstance(data.get(key, {}), dict):
            raise bad(f"{key}: {data[key]!r}"[:200], f"Write `{key}` as keys and values.")
    try:
        return Profile.model_validate({"name": path.name, **_whole(data)})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise bad(f"{key}: {first['msg']}", f"Correct `{key}`.") from error


def _shipped(name: str) -> Any:
    return files("avadm.site") / "profiles" / f"{name}.yml"


@cache
def _read(name: str) -> Profile:
    """Return a profile that is there; its file is read once in a process, since reading takes longer than all else."""
    return Profile.model_validate({"name": name, **_whole(_data(name))})


@cache
def _data(name: str) -> dict[str, Any]:
    """Return the data of a file that ships with avadm, without what it inherits."""
    data: dict[str, Any] = YAML(typ="safe").load(_shipped(name).read_text())
    return data


def _whole(data: dict[str, Any]) -> dict[str, Any]:
    """Return a profile's data over those that it inherits, in their order: mappings are merged, `null` leaves out a key.

    One that ships with avadm may inherit several, as a list.
    """
    if (bases := data.get("inherits")) is None:
        return data
    whole: dict[str, Any] = {}
    for layer in (*(_whole(_data(base)) for base in ([bases] if isinstance(bases, str) else bases)), data):
        for key, value in layer.items():
            below = whole.get(key)
            if isinstance(value, dict) and isinstance(below, dict):
                whole[key] = {k: v for k, v in {**below, **value}.items() if v is not None}
            elif key != "inherits":
                whole[key] = value
    return {key: value for key, value in whole.items() if value is not None}
