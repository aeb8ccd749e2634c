"""Loading a site file: text → data with lines → model → rules; every finding of the pass comes together."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from pydantic import ValidationError

from avadm.catalogue import finding
from avadm.components import catalog
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.findings import Finding, Severity, errors
from avadm.site import profile as profiles
from avadm.site import rules
from avadm.site.draft import Draft
from avadm.site.errors import explain, nearest
from avadm.site.model import Site
from avadm.site.profile import Profile
from avadm.site.source import KeyPath, Source, read

DRAFT = frozenset({"osd-without-devices"})
"""Errors that a draft may have: a site file that lacks nothing but the devices of its storage nodes."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A site file that was found good.

    Attributes:
        path: the file, absolute.
        site: what it says.
        profile: the version profile that it names.
        warnings: findings that do not stop a verb.
    """

    path: Path
    site: Site
    profile: Profile
    warnings: tuple[Finding, ...] = ()
    _source: Source = field(default_factory=lambda: Source("site.yml"), repr=False)

    def where(self, key: Sequence[str | int] = ()) -> str:
        """Return ``site.yml:12`` for a key path such as ``("nodes", 3, "address")``."""
        return self._source.where(tuple(key))

    @property
    def draft(self) -> tuple[str, ...]:
        """The nodes that are to store data and have no approved device yet; none where the file is complete."""
        return tuple(n.name for n in self.site.nodes if "osd" in n.roles and not n.devices)

    @property
    def ssh_key(self) -> Path:
        """The controller's private key, absolute (it need not exist yet)."""
        return beside(self.path, self.site.ssh.key)

    @property
    def known_hosts(self) -> Path:
        """The file of pinned host keys, absolute (it need not exist yet)."""
        return beside(self.path, self.site.ssh.known_hosts)


def beside(site_path: Path, name: str) -> Path:
    """Return a path that a site file names: absolute, ``~`` expanded."""
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # ~user: there is no such login here
        path = Path(name)
    return (site_path.parent / path).absolute()


def target_profile(site_path: Path, name: str) -> Profile:
    """Return the profile to which a site is upgraded.

    Args:
        site_path: the site file.
        name: of a profile that ships with avadm, or the path of a file as the site file would have it.

    Raises:
        AvadmError: there is none, or its file is invalid.
    """
    return profiles.load_file(beside(site_path, name)) if profiles.is_path(name) else profiles.load(name)


def load(path: Path, allow: Collection[str] = ()) -> SiteFile:
    """Load a site file for a verb that needs it whole.

    Args:
        path: the file.
        allow: checks whose errors do not stop this verb, and are warnings for it; see `DRAFT`.

    Raises:
        AvadmError: with every error and warning of the pass (exit code 2).
    """
    site_file, findings = examine(path, allow)
    if site_file is None:
        raise AvadmError(findings, EXIT_COULD_NOT_RUN)
    return site_file


def examine(path: Path, allow: Collection[str] = ()) -> tuple[SiteFile | None, list[Finding]]:
    """Load a site file and return it with all findings; None in its place where one of them is an error.

    Raises:
        AvadmError: the file cannot be read at all (exit code 2).
    """
    path = path.absolute()
    source = read(path)
    findings = list(source.findings)
    if source.data is None and errors(findings):
        return None, findings
    site, broken = _model(source, findings)
    profile = _profile(path, source, findings)
    if profile is not None and site is not None:
        profile = _mixed(path, source, profile, findings)
    if site is not None:
        findings += validate(Draft(site, source.where, source.has, frozenset(broken), profile))
    findings = [replace(f, severity=Severity.WARNING) if f.check in allow else f for f in findings]
    findings = _in_order(findings)
    if errors(findings) or site is None or profile is None:
        return None, findings
    return SiteFile(path, site, profile, tuple(findings), source), findings


def _model(source: Source, findings: list[Finding]) -> tuple[Site | None, list[KeyPath]]:
    """Build the model; where values are wrong, with stand-ins so that the rest is checked too."""
    try:
        return Site.model_validate(source.data), []
    except ValidationError as error:
        found, broken = explain(error, source)
        findings += found
    if not isinstance(source.data, dict):
        return None, broken
    try:
        return Site.model_validate(_repaired(source.data, broken)), broken
    except ValidationError:
        return None, broken


def _mixed(path: Path, source: Source, profile: Profile, findings: list[Finding]) -> Profile:
    """Return the profile with the components that have another one (`component_profiles`)."""
    held = source.data.get("component_profiles") if isinstance(source.data, dict) else None
    for component, name in held.items() if isinstance(held, dict) else ():
        key = ("component_profiles", component)
        if component not in catalog.UPGRADES:
            known = ", ".join(sorted(catalog.UPGRADES))
            findings.append(
                finding("component-not-supported", source.place(key), str(component), known, name=component)
            )
            continue
        other = _profile_of(path, source, key, name, findings)
        if other is not None:
            one = catalog.UPGRADES[component][1]
            profile = profile.with_component(one.programs, one.roles, other)
    return profile


def _profile(path: Path, source: Source, findings: list[Finding]) -> Profile | None:
    name = source.data.get("profile", "stated") if isinstance(source.data, dict) else None
    return _profile_of(path, source, ("profile",), name, findings)


def _profile_of(
    path: Path, source: Source, key: KeyPath, name: object, findings: list[Finding]
) -> Profile | None:
    """Return the profile that a key of the site file names; None, with a finding, where there is none."""
    if not isinstance(name, str):
        return None
    if profiles.is_path(name):
        try:
            return profiles.load_file(beside(path, name))
        except AvadmError as error:
            at = source.place(key)
            findings += [replace(f, where=at, found=f"{f.where}: {f.found}") for f in error.findings]
            return None
    known = profiles.names()
    if name not in known:
        findings.append(
            finding(
                "unknown-profile",
                where=source.place(key),
                found=name,
                wanted="one of " + ", ".join(known),
                name=name,
                remedy=nearest(name, known),
            )
        )
        return None
    return profiles.load(name)


_REQUIRED: dict[tuple[str, ...], Any] = {
    ("name",): "unnamed",
    ("network",): {"management": "0.0.0.0/32", "domain": "invalid"},
    ("network", "management"): "0.0.0.0/32",
    ("network", "domain"): "invalid",
    ("nodes",): [{"name": "unnamed", "address": "0.0.0.0"}],  # noqa: S104  a stand-in, nothing binds to it
    ("nodes", "*"): {"name": "unnamed", "address": "0.0.0.0"},  # noqa: S104
    ("nodes", "*", "name"): "unnamed",
    ("nodes", "*", "address"): "0.0.0.0",  # noqa: S104
    ("nodes", "*", "devices", "*"): {},
    ("waivers", "*"): {"check": "os", "nodes": ["all"], "who": "-", "why": "-", "until": "2000-01-01"},
    ("waivers", "*", "check"): "os",
    ("waivers", "*", "nodes"): ["all"],
    ("waivers", "*", "nodes", "*"): "all",
    ("waivers", "*", "who"): "-",
    ("waivers", "*", "why"): "-",
    ("waivers", "*", "until"): "2000-01-01",
    ("components", "ceph", "rbd_pools", "*"): {"name": "unnamed"},
    ("components", "ceph", "rbd_pools", "*", "name"): "unnamed",
    ("components", "alluxio", "mounts"): [{"path": "/unnamed", "cephfs": "/unnamed"}],
    ("components", "alluxio", "mounts", "*"): {"path": "/unnamed", "cephfs": "/unnamed"},
    ("components", "alluxio", "mounts", "*", "path"): "/unnamed",
    ("components", "alluxio", "mounts", "*", "s3", "bucket"): "unnamed",
    ("components", "alluxio", "mounts", "*", "hdfs", "namenodes"): ["unnamed"],
    ("components", "alluxio", "mounts", "*", "hdfs", "namenodes", "*"): "unnamed",
    ("components", "alluxio", "tiers", "*"): {"kind": "MEM", "path": "/unnamed"},
    ("components", "alluxio", "tiers", "*", "kind"): "MEM",
    ("components", "alluxio", "tiers", "*", "path"): "/unnamed",
}
"""Stand-ins for what a model cannot do without; rules leave out whatever is marked as broken."""


def _repaired(data: dict[str, Any], broken: list[KeyPath]) -> dict[str, Any]:
    """Return a copy in which each broken place has its stand-in, or is left out where it may be."""
    data = copy.deepcopy(data)
    # Last list items first, so that leaving one out does not move those to come; deepest first, so that
    # a stand-in for the whole is not edited any more.
    for path in sorted(broken, key=lambda p: [(isinstance(x, int), x) for x in p], reverse=True):
        if not path:
            continue
        parent: Any = data
        for part in path[:-1]:
            parent = parent[part]
        key: Any = path[-1]
        stand_in = _REQUIRED.get(tuple("*" if isinstance(p, int) else p for p in path))
        if stand_in is not None:
            parent[key] = copy.deepcopy(stand_in)
        elif isinstance(parent, list):
            del parent[key]
        else:
            parent.pop(key, None)
    return data


def _in_order(findings: list[Finding]) -> list[Finding]:
    """Return findings by line, errors before warnings on the same line."""

    def place(finding: Finding) -> tuple[int, bool]:
        line = re.search(r":([0-9]+)( |$)", finding.where)
        return int(line[1]) if line else 0, finding.severity is not Severity.ERROR

    return sorted(findings, key=place)


Rule = Callable[[Draft], Iterator[Finding]]


def _found() -> list[Rule]:
    common = [import_module(f"{rules.__name__}.{one.name}") for one in iter_modules(rules.__path__)]
    return [rule for module in [*common, *catalog.modules("rules")] for rule in getattr(module, "RULES", ())]


RULES = _found()
"""Those of every module; a file's findings are reported in the file's order, not in this one."""


def validate(draft: Draft) -> list[Finding]:
    """Return what every rule finds."""
    return [finding for rule in RULES for finding in rule(draft)]
