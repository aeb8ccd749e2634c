"""Rules over the platform: what it stands on is there, and some worker is left for its own processes."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.ava.component import DATABASE, homes, host
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
            yield draft.error(
                "role-missing",
                AVA,
                f"There is a platform (ava), but no node has the role {role}, which {why}.",
                f"no {role}",
                f"at least 1 {role}",
                f"Give a node the role {role}, or remove components.ava.",
            )


def kept(draft: Draft) -> Iterator[Finding]:
    """Its database is there."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.ok("components", "database"):
        return
    found = draft.site.components.database
    if found is None:
        yield draft.error(
            "ava-database",
            AVA,
            "The platform keeps users, quotas and runs in PostgreSQL, and there is none.",
            "no components.database",
            "components.database, and nodes with the role database",
            "Add `database: {vip: ADDRESS}` below components and give two nodes the role database, or remove components.ava.",
        )
    elif DATABASE not in found.names:
        yield draft.error(
            "ava-database",
            ("components", "database", "names"),
            f"The platform keeps users, quotas and runs in the database {DATABASE}, which is not among the names.",
            ", ".join(found.names) or "none",
            f"{DATABASE} among them",
            f"Add {DATABASE}, or leave names out.",
        )


def housed(draft: Draft) -> Iterator[Finding]:
    """Some worker without GPUs runs its processes, and all other pods that ask for none; two survive the loss of one."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.whole("roles"):
        return
    found = homes(draft.site)
    if not found and draft.has("worker"):
        yield draft.error(
            "ava-homeless",
            AVA,
            "With the platform GPU nodes take only pods that ask for GPUs, so that its own processes would run nowhere.",
            "each worker has the role gpu",
            "a worker without it",
            "Add a worker without GPUs, or remove components.ava.",
        )
    elif len(found) == 1:
        yield draft.warning(
            "ava-one-home",
            AVA,
            "While this node is down, the platform is too; what runs continues.",
            f"1 worker without the role gpu: {found[0].name}",
            "2 workers without it",
            "Add a worker without GPUs.",
        )


def named(draft: Draft) -> Iterator[Finding]:
    """Its name is nobody else's."""
    if not draft.site.components.ava or not draft.ok(*AVA) or not draft.ok("network"):
        return
    own = draft.site.components.ava.host
    others = {"kubernetes", "ingress", "registry", *(n.name for n in draft.site.nodes)}
    if own in others:
        yield draft.error(
            "ava-host",
            (*AVA, "host"),
            "Something else has this name.",
            host(draft.site),
            "a name that no node has, and none of kubernetes, ingress, registry",
            "Choose another name; ava is the usual one.",
        )


def cloned(draft: Draft) -> Iterator[Finding]:
    """What clones code is there, and knows the server that it speaks ssh with."""
    knobs = draft.site.components.ava
    if not knobs or not knobs.git or not draft.ok(*AVA):
        return
    if CLONES not in knobs.images:
        yield draft.error(
            "ava-git-image",
            (*AVA, "images"),
            "Code from git is cloned by a container of ava-base, which is not among the images.",
            ", ".join(knobs.images) or "none",
            f"{CLONES} among them",
            f"Add {CLONES}, or remove components.ava.git.",
        )
    for number, server in enumerate(knobs.git):
        if SSH in server.ports and not server.host_keys:
            yield draft.warning(
                "ava-git-host-keys",
                (*AVA, "git", number, "host_keys"),
                "No run can clone by ssh from this server: its host key is not known.",
                "none",
                "lines as known_hosts has them",
                "Write what `ssh-keyscan NAME` prints, compared with what the server's owner says, or leave port 22 out.",
            )


def idle(draft: Draft) -> Iterator[Finding]:
    """Who does not work is told before the end, and what workbenches use is measured."""
    knobs = draft.site.components.ava
    if not knobs or not draft.ok(*AVA) or (hours := knobs.workbenches.idle_hours) is None:
        return
    at = (*AVA, "workbenches")
    if knobs.workbenches.warn_hours >= hours:
        yield draft.error(
            "ava-idle",
            at,
            "Users would be told before their workbenches are idle.",
            f"warn_hours {knobs.workbenches.warn_hours:g}",
            f"less than idle_hours, {hours:g}",
            "Write a smaller warn_hours, or a larger idle_hours.",
        )
    if draft.whole("roles") and not metered(draft.site):
        yield draft.warning(
            "ava-idle",
            at,
            "No workbench is stopped for being idle: what they use is asked of the site's own Prometheus, which it has not.",
            "no prometheus",
            "a node with the role prometheus",
            "Give a node the role prometheus, or remove idle_hours.",
        )


RULES = [stands_on, kept, housed, named, cloned, idle]
