"""Which artifacts a site needs, their variables for roles, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from avadm.artifacts import node_archives
from avadm.artifacts.manifest import Artifact, named
from avadm.artifacts.store import ArtifactState, ArtifactStore
from avadm.catalogue import finding
from avadm.components.catalog import PHASES
from avadm.components.model import Phase
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.site.model import Site


def needed(
    site: Site, phases: Iterable[Phase] = PHASES, versions: Mapping[str, str] | None = None
) -> list[Artifact]:
    """Return the artifacts of all phases that have nodes in a site, in the order of need.

    Args:
        site: the site.
        phases: what is installed.
        versions: the profile's, which choose among several versions of an artifact; its first ones where None.
    """
    return named([name for name in _names(site, phases) if not node_archives.ours(name)], versions)


def _names(site: Site, phases: Iterable[Phase]) -> list[str]:
    names = [name for p in phases if (found := p.installs(site)) and p.hosts(site) for name in found]
    return list(dict.fromkeys(names))


def variables(
    site: Site, store: ArtifactStore | None = None, versions: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the variable ``artifacts``: name to version and files, of what the site needs and the cache has."""
    store = store or ArtifactStore.default()
    report = {a.name: store.variables(a) for a in needed(site, versions=versions)}
    made = {name: node_archives.variables(name) for name in _names(site, PHASES) if node_archives.ours(name)}
    return {name: value for name, value in report.items() if value is not None} | made


@dataclass(frozen=True, slots=True)
class Missing:
    """An artifact that phases install and the cache has not, or not whole."""

    artifact: Artifact
    phases: tuple[str, ...]
    state: ArtifactState
    folder: Path

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.artifact.name} {self.artifact.version}"

    def finding(self) -> Finding:
        """Return the error."""
        return finding(
            "artifact-missing",
            where=str(self.folder),
            found=self.state,
            wanted=ArtifactState.PRESENT,
            title=self.title,
            names=", ".join(self.phases),
            state=self.state,
        )


def missing(
    site: Site,
    phases: Iterable[Phase],
    store: ArtifactStore | None = None,
    *,
    deep: bool = True,
    versions: Mapping[str, str] | None = None,
) -> list[Missing]:
    """Return what a site's phases install and the cache has not whole; with ``deep`` every byte is read."""
    store = store or ArtifactStore.default()
    users: dict[str, list[str]] = {}
    for phase in phases:
        for name in phase.installs(site):
            if not node_archives.ours(name):
                users.setdefault(name, []).append(phase.name)
    states = [(artifact, store.state(artifact, deep=deep)) for artifact in named(list(users), versions)]
    return [
        Missing(artifact, tuple(users[artifact.name]), state, store.folder(artifact))
        for artifact, state in states
        if state in (ArtifactState.ABSENT, ArtifactState.DAMAGED)
    ]


def refuse_missing(site: Site, phases: Iterable[Phase], versions: Mapping[str, str] | None = None) -> None:
    """Raise AvadmError with each artifact that phases install and the cache has not, or not whole."""
    if lacking := missing(site, phases, versions=versions):
        raise AvadmError([one.finding() for one in lacking])
