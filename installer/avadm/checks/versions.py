"""Versions of what runs against the profile, and ceph's client against its server (I7)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from avadm.catalogue import finding
from avadm.components.catalog import BY_NAME, COMPONENTS, duties
from avadm.components.model import Program
from avadm.components.monitoring.variables_tls import asked_with
from avadm.findings import Finding
from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm.site.model import Node, Site
from avadm_node.probes import versions

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

TIMEOUT = 60.0  # seconds
PATIENCE = 30.0
"""Seconds that what a phase has just started may take to tell its version: other phases are at work beside it."""
PROGRAMS: dict[str, Program] = {p.name: p for c in COMPONENTS for p in c.programs}
# Phase to what it installs, and so can fix: programs, ceph's packages and daemons by kind. Nothing else is judged
# after it, or a phase would be stopped by what only a later one puts right.
PARTS: dict[str, tuple[str, ...]] = {
    c.name: (*c.ceph.kinds, *(p.name for p in c.programs)) for c in COMPONENTS
}


def _asked(site: Site, node: Node) -> list[Program]:
    """Return the programs of a node that tell their version, by a command or by their metrics."""
    own = duties(site, node)
    return [
        p for p in PROGRAMS.values() if (p.command or p.metrics) and (not p.duties or set(p.duties) & own)
    ]


def collect(
    site_file: SiteFile, fleet: Fleet, nodes: Sequence[Node], phase: str | None = None
) -> dict[str, Any]:
    """Ask nodes for their versions, in one round trip, all nodes at once; with a phase for those of its parts alone.

    Returns:
        ``{"nodes": {NAME: {"ceph_installed", "ceph_daemons", "services", "stale", "kernel"}},
        "ceph_versions": what `ceph versions` says or None, "unreachable": {NAME: reason}}``.
    """
    site = site_file.site
    witness = next((n.name for n in nodes if "mon" in n.roles), None)

    def asked(name: str) -> bool:
        return phase is None or name in PARTS[phase]

    patience = 0.0 if phase is None else PATIENCE
    ceph, guarded = asked("ceph"), asked_with(site, site_file.profile)

    def params(node: Node) -> dict[str, Any]:
        programs = [p for p in _asked(site, node) if asked(p.name)]
        return {
            "addresses": [str(node.address), "127.0.0.1"],
            "ports": {p.name: p.metrics for p in programs if p.metrics},
            "guarded": guarded,
            "commands": {p.name: p.command for p in programs if p.command},
            "ceph": ceph,
            "cluster": ceph and node.name == witness,
            "patience": patience,
        }

    given = {node.name: params(node) for node in nodes}
    python, timeout = site_file.profile.python, TIMEOUT + patience
    answers = ask(fleet, python, versions.ask, given, read=mapping, timeout=timeout)
    facts = {name: answer.value for name, answer in answers.items() if answer.value is not None}
    cluster = [fact.pop("ceph_versions", None) for fact in facts.values()]
    return {
        "nodes": facts,
        "ceph_versions": next((c for c in cluster if c), None),
        "unreachable": {name: answer.why for name, answer in answers.items() if answer.value is None},
    }


def running(site_file: SiteFile, fleet: Fleet, nodes: Sequence[Node], program: str) -> dict[str, str]:
    """Return node to the version of a program that runs there; "" where none answers with it."""
    of = PROGRAMS[program]
    params = {
        "ports": {program: of.metrics} if of.metrics else {},
        "commands": {program: of.command} if of.command else {},
        "guarded": asked_with(site_file.site, site_file.profile),
        "ceph": False,
        "cluster": False,
        "patience": 0.0,
    }
    given = {node.name: {**params, "addresses": [str(node.address), "127.0.0.1"]} for node in nodes}
    answers = ask(fleet, site_file.profile.python, versions.ask, given, read=mapping, timeout=TIMEOUT)
    return {
        name: str((answer.value or {}).get("services", {}).get(program, ""))
        for name, answer in answers.items()
    }


def check(
    site_file: SiteFile, fleet: Fleet, phase: str | None = None, names: Collection[str] | None = None
) -> list[Finding]:
    """Compare what runs with the profile, and each node's ceph with the cluster's.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
        phase: the phase that has just ended: what it installs is judged, and must run now; None judges
            everything that runs.
        names: the nodes to ask; all where None.
    """
    if phase is not None and not PARTS[phase]:
        return []
    nodes = [n for n in site_file.site.nodes if names is None or n.name in names]
    collected = collect(site_file, fleet, nodes, phase)
    return judge(site_file.site, site_file.profile.versions, collected, nodes, phase)


def judge(
    site: Site,
    wanted: dict[str, str],
    collected: dict[str, Any],
    nodes: Sequence[Node],
    phase: str | None = None,
) -> list[Finding]:
    """Judge what `collect` returned, after a phase only its parts; `wanted` is component to version prefix."""
    found = [
        finding("versions-unknown", found=reason, host=name)
        for name, reason in collected["unreachable"].items()
    ]
    server = _server(collected)
    for node in nodes:
        fact = collected["nodes"].get(node.name)
        if fact is None:
            continue
        fact = _of_phase(fact, phase)
        found += _wrong(node, fact, wanted)
        found += _unequal(node, fact, server)
        found += _missing(site, node, fact, phase)
        found += [
            finding(
                "versions-stale",
                found="the old program runs on",
                wanted="what is installed runs",
                host=node.name,
                program=program,
            )
            for program in fact["stale"]
        ]
    found += _cluster(collected["ceph_versions"], wanted.get("ceph", ""), phase)
    return found


def _of_phase(fact: dict[str, Any], phase: str | None) -> dict[str, Any]:
    """Return of a node's versions those of a phase's parts; all without a phase."""
    if phase is None:
        return fact
    parts = PARTS[phase]
    kinds = tuple(f"{part}." for part in parts)
    daemons = fact["ceph_daemons"].items()
    return fact | {
        "ceph_installed": fact["ceph_installed"] if "ceph" in parts else None,
        "ceph_daemons": {name: v for name, v in daemons if name.startswith(kinds)},
        "services": {name: v for name, v in fact["services"].items() if name in parts},
        # A program is called ceph-osd, and Debian's exporters prometheus-node-exporter.
        "stale": [p for p in fact["stale"] if p.removeprefix("ceph-").startswith(parts)],
    }


def _running(fact: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (component, what runs, version) of one node."""
    for name, version in fact["services"].items():
        yield name, name, version
    for name, version in fact["ceph_daemons"].items():
        yield "ceph", f"ceph {name}", version
    if fact["ceph_installed"]:
        yield "ceph", "installed ceph", fact["ceph_installed"]


def _wrong(node: Node, fact: dict[str, Any], wanted: dict[str, str]) -> list[Finding]:
    """Return what is not of the profile's version."""
    return [
        finding("versions-profile", found=version, wanted=f"{wanted[component]}…", host=node.name, what=what)
        for component, what, version in _running(fact)
        if component in wanted and not version.startswith(wanted[component])
    ]


def _server(collected: dict[str, Any]) -> str | None:
    """Return the version of the most ceph servers."""
    versions = Counter(
        version
        for fact in collected["nodes"].values()
        for name, version in fact["ceph_daemons"].items()
        if not name.startswith("client.")
    )
    return versions.most_common(1)[0][0] if versions else None


def _unequal(node: Node, fact: dict[str, Any], server: str | None) -> list[Finding]:
    """Return each ceph part, client or server, that differs from the servers (K1: data was lost by that)."""
    if server is None:
        return []
    return [
        finding(
            "versions-unequal", found=version, wanted=f"{server}, as the servers", host=node.name, what=what
        )
        for component, what, version in _running(fact)
        if component == "ceph" and version != server
    ]


def _missing(site: Site, node: Node, fact: dict[str, Any], phase: str | None) -> list[Finding]:
    """Return what a phase should have left running on a node and does not run."""
    absent = []
    if phase is None:
        return []
    component = BY_NAME[phase]
    for kind in component.ceph.daemons:
        prefix = "client.rgw." if kind == "rgw" else f"{kind}."
        running = sum(name.startswith(prefix) for name in fact["ceph_daemons"])
        expected = len(node.devices) if kind == "osd" else 1
        if kind in node.roles and running < expected:
            absent.append((f"ceph-{'radosgw' if kind == 'rgw' else kind}", f"{running} of {expected}"))
    if component.ceph.nodes & set(node.roles) and not fact["ceph_installed"]:
        absent.append(("ceph", "not installed"))
    # With the site's own monitoring nothing of ours is there to answer.
    foreign = phase == "monitoring" and site.components.monitoring.existing
    own = [] if foreign else [p.name for p in _asked(site, node)]
    absent += [
        (name, "no answer with its version")
        for name in PARTS[phase]
        if name in own and name not in fact["services"]
    ]
    return [
        finding(
            "versions-missing",
            found=state,
            wanted="it runs and tells its version",
            host=node.name,
            name=name,
            phase=phase,
        )
        for name, state in absent
    ]


def _cluster(versions: dict[str, Any] | None, prefix: str, phase: str | None) -> list[Finding]:
    """Return an error where `ceph versions` knows daemons of several versions, or of another than wanted."""
    numbers: Counter[str] = Counter()
    for kind in ("overall",) if phase is None else PARTS[phase]:
        for text, count in (versions or {}).get(kind, {}).items():
            if match := re.match(r"ceph version (\S+)", text):
                numbers[match[1]] += count
    if len(numbers) <= 1 and all(n.startswith(prefix) for n in numbers):
        return []
    return [
        finding(
            "versions",
            where="ceph versions",
            found=", ".join(f"{count} × {n}" for n, count in sorted(numbers.items())),
            wanted=f"one version {prefix}…",
        )
    ]
