"""Rules over the platform: what it stands on is there, and some worker is left for its own processes."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.ava.component import DATABASE, homes, host, without_cache
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.placement import metered
from avadm.site.source import KeyPath

AVA: KeyPath = ("components", "ava")
CLONES, SSH = "ava-base", 22
NEEDED = {
    "master": "makes its pods",
    "worker": "runs them",
    "dns": "tells them names",
    "ingress": "lets users in",
    "registry": "has its image",
}


def stands_on(draft: Draft) -> Iterator[Finding]:
    """The roles that it needs are there."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.whole("roles"):
        return
    for role, why in NEEDED.items():
        if not draft.has(role):
            yield draft.finding("role-missing", AVA, f"no {role}", f"at least 1 {role}", role=role, why=why)


def kept(draft: Draft) -> Iterator[Finding]:
    """Its database is there."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.ok("components", "database"):
        return
    found = draft.site.components.database
    if found is None:
        yield draft.finding(
            "ava-database",
            AVA,
            "no components.database",
            "components.database, and nodes with the role database",
        )
    elif DATABASE not in found.names:
        yield draft.finding(
            "ava-database-name",
            ("components", "database", "names"),
            ", ".join(found.names) or "none",
            f"{DATABASE} among them",
            DATABASE=DATABASE,
        )


def logged(draft: Draft) -> Iterator[Finding]:
    """Runs' logs are kept: the platform may ask no pod for what it writes."""
    components = draft.site.components
    if components.ava and draft.ok(*AVA) and draft.ok("components", "logs") and components.logs is None:
        yield draft.finding("ava-logs", AVA, "no components.logs", "components.logs, with two stores")


def housed(draft: Draft) -> Iterator[Finding]:
    """Some worker without GPUs runs its processes, and all other pods that ask for none; two survive the loss of one."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.whole("roles"):
        return
    found = homes(draft.site)
    if not found and draft.has("worker"):
        yield draft.finding("ava-homeless", AVA, "each worker has the role gpu", "a worker without it")
    elif len(found) == 1:
        yield draft.finding(
            "ava-one-home", AVA, f"1 worker without the role gpu: {found[0].name}", "2 workers without it"
        )


def cached(draft: Draft) -> Iterator[Finding]:
    """Either each worker shows the cache to runs, or it is meant that none does."""
    if not draft.site.components.ava or not draft.ok("components") or not draft.whole("roles"):
        return
    without = without_cache(draft.site) if draft.site.components.alluxio else []
    if without and len(without) < len(draft.site.with_role("worker")):
        yield draft.finding(
            "ava-cache-away", AVA, f"workers without it: {', '.join(without)}", "the role alluxio_client"
        )


def named(draft: Draft) -> Iterator[Finding]:
    """Its name is no one else's."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.ok("network"):
        return
    own = draft.site.components.ava.host
    others = {"kubernetes", "ingress", "registry", *(n.name for n in draft.site.nodes)}
    if own in others:
        yield draft.finding(
            "ava-host",
            (*AVA, "host"),
            host(draft.site),
            "a name that no node has, and none of kubernetes, ingress, registry",
        )


def cloned(draft: Draft) -> Iterator[Finding]:
    """What clones code is there, and knows the server that it speaks ssh with."""
    knobs = draft.site.components.ava
    if not knobs or not knobs.git or not draft.ok(*AVA):
        return
    if CLONES not in knobs.images:
        yield draft.finding(
            "ava-git-image",
            (*AVA, "images"),
            ", ".join(knobs.images) or "none",
            f"{CLONES} among them",
            CLONES=CLONES,
        )
    for number, server in enumerate(knobs.git):
        if SSH in server.ports and not server.host_keys:
            yield draft.finding(
                "ava-git-host-keys",
                (*AVA, "git", number, "host_keys"),
                "none",
                "lines as known_hosts has them",
            )


def idle(draft: Draft) -> Iterator[Finding]:
    """An idle user is notified before the stop, and what workbenches use is measured."""
    knobs = draft.site.components.ava
    if not knobs or not draft.ok(*AVA) or (hours := knobs.workbenches.idle_hours) is None:
        return
    at = (*AVA, "workbenches")
    if knobs.workbenches.warn_hours >= hours:
        yield draft.finding(
            "ava-idle", at, f"warn_hours {knobs.workbenches.warn_hours:g}", f"less than idle_hours, {hours:g}"
        )
    if draft.whole("roles") and not metered(draft.site):
        yield draft.finding("ava-idle-prometheus", at, "no prometheus", "a node with the role prometheus")


RULES = [stands_on, kept, logged, housed, cached, named, cloned, idle]
