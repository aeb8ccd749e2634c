"""Which parts of the probe a node is asked for, by its roles, and the parameters they need."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from avadm.checks import waivers
from avadm.checks.evidence import SiteFacts, SiteNode
from avadm.components.catalog import BY_FOLDER, COMPONENTS, always, given, held, listeners
from avadm.components.ceph.backfill import backfill_vars
from avadm.components.model import Probe
from avadm.components.monitoring.variables_tls import READER_FILES, read_guarded
from avadm.components.nodes.variables import DNS_OFFSET, tunnels
from avadm.components.packet_filter.variables import texts
from avadm.doctor import places
from avadm.risks.register import least_packages, rules
from avadm.site.load import SiteFile

KUBE = ("master", "worker")

QUESTIONS: tuple[Probe, ...] = tuple(q for c in COMPONENTS for q in c.questions)
"""A new kind of question: one line in its component, and a function of that name in avadm_node/probes/health/COMPONENT.py."""
MODULES = {q.name: folder for folder, component in BY_FOLDER.items() for q in component.questions}
"""Question to the module that has its function."""
CERTIFICATES = sorted({pattern for c in COMPONENTS for pattern in c.certificates})
"""Patterns of the files with certificates that avadm writes on nodes."""

WINDOW_MINUTES = 15
"""How far back the journal and events are searched."""


def site_facts(site_file: SiteFile) -> SiteFacts:
    """Return what checks need of a site file."""
    site, knobs = site_file.site, site_file.site.components
    placed = given(site)
    filters = texts(site) if site.network.filter.enabled else {}
    rules = {name: sha256(text.encode()).hexdigest() for name, text in filters.items()}
    nodes = tuple(
        SiteNode(
            name=n.name,
            address=str(n.address),
            roles=(*n.roles, *placed.get(n.name, ())),
            devices=len(n.devices),
            gpus=n.gpus.count if n.gpus else 0,
            gpu_slots=n.gpus.slots if n.gpus else 1,
            ports=always(site, n),
            listens=tuple(dict.fromkeys((number, p.last or number) for number, p in listeners(site, n))),
            rules=rules.get(n.name, ""),
        )
        for n in site.nodes
    )
    filesystem = knobs.ceph.filesystem
    return SiteFacts(
        component_profiles=site.component_profiles,
        name=site.name,
        nodes=nodes,
        versions=dict(site_file.profile.versions),
        addresses={str(address): virtual.duty for virtual, address in held(site)},
        pods=str(site.network.pods),
        more_pods=tuple(map(str, site.network.more_pods)),
        tunnels=str(tunnels(site) or ""),
        mount=filesystem.mount if filesystem else "",
        disk_percent=knobs.kubernetes.eviction.disk_percent,
        snapshot_minutes=knobs.kubernetes.etcd.snapshot_minutes,
        max_skew_ms=site.time.max_skew_ms,
        waivers=waivers.of_scope(site_file, "doctor"),
        backfill=backfill_vars(knobs.ceph, site_file.profile) if site.with_role("mon") else {},
    )


def wanted(facts: SiteFacts, node: SiteNode, only: Collection[str] | None) -> dict[str, int]:
    """Return part to its seconds for a node."""
    found = {}
    for part in QUESTIONS:
        concerned = [n.name for n in facts.nodes if not part.duties or set(part.duties) & set(n.roles)]
        if part.witnesses:
            concerned = concerned[: part.witnesses]
        if node.name not in concerned or (only is not None and part.name not in only):
            continue
        if (part.name == "cephfs" and not facts.mount) or (part.name == "ports" and not node.ports):
            continue
        found[part.name] = part.seconds
    return found


def patterns() -> list[dict[str, str]]:
    """Return the known troubles of the journal, patterns.yml."""
    text = (files("avadm.doctor") / "patterns.yml").read_text(encoding="utf-8")
    return [{k: str(v) for k, v in row.items()} for row in YAML(typ="safe").load(text)]


def parameters(
    site_file: SiteFile, facts: SiteFacts, node: SiteNode, only: Collection[str] | None
) -> dict[str, Any]:
    """Return the probe's parameters on a node, JSON-ready."""
    system = site_file.profile.os
    own = [node.address] if "dns" in node.roles else []
    service = [str(site_file.site.network.services[DNS_OFFSET])] if set(KUBE) & set(node.roles) else []
    return {
        "parts": (asked := wanted(facts, node, only)),
        "modules": {name: MODULES[name] for name in asked},
        "name": node.name,
        "address": node.address,
        "mount": facts.mount,
        "certificates": CERTIFICATES,
        "patterns": {row["id"]: row["pattern"] for row in patterns()},
        "window": WINDOW_MINUTES * 60,
        "dns": own + service,
        "gpus": node.gpus,
        "rules": rules(),
        "packages": least_packages(" ".join((system["distribution"], system["release"]))),
        "ports": list(node.ports),
        "metrics_tls": READER_FILES if read_guarded(site_file.site, site_file.profile) else None,
        **places.site_parameters(site_file.site),
    }
