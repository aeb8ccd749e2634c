"""Rules over PostgreSQL: somebody runs it, etcd is there to choose its primary, its address is its own."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from avadm.components import COMPONENTS, listeners
from avadm.components.database import OWN
from avadm.findings import Finding
from avadm.sitefile.rules.draft import Draft
from avadm.sitefile.rules.kubernetes import free, taken
from avadm.sitefile.source import KeyPath

DATABASE: KeyPath = ("components", "database")
TAKEN = frozenset({*OWN, "postgres", "template0", "template1", "replicator", "rewinder"})
"""What no database may be called: PostgreSQL or avadm has a user, a database or a password of that name."""


def served(draft: Draft) -> Iterator[Finding]:
    """There are nodes for it where it is wanted and only there, and etcd."""
    if not draft.whole("roles") or not draft.ok(*DATABASE):
        return
    knobs, nodes = draft.site.components.database, draft.site.with_role("database")
    if knobs is None:
        if nodes:
            yield draft.error(
                "role-unused",
                ("nodes",),
                "There are nodes with the role database, but no database for them.",
                ", ".join(n.name for n in nodes),
                "components.database, or no database",
                "Add `components: {database: {}}`, or remove the role database.",
            )
        return
    for role, why in (("database", "runs PostgreSQL"), ("etcd", "keeps which of them is its primary")):
        if not draft.has(role):
            yield draft.error(
                "role-missing",
                DATABASE,
                f"There is a database, but no node has the role {role}, which {why}.",
                f"no {role}",
                f"at least 1 {role}",
                f"Give nodes the role {role}, or remove components.database.",
            )
    if len(nodes) == 1:
        yield draft.warning(
            "no-standby",
            DATABASE,
            "The loss of the one node stops the platform, and loses what was written since the last backup.",
            f"1 database: {nodes[0].name}",
            "2 database, and vip",
            "Give the role database to one more node.",
        )


def address(draft: Draft) -> Iterator[Finding]:
    """Several nodes have a virtual address, which is nobody else's."""
    knobs = draft.site.components.database
    if knobs is None or not draft.ok(*DATABASE) or not draft.whole("roles"):
        return
    path: KeyPath = (*DATABASE, "vip")
    if knobs.vip is None:
        if len(draft.site.with_role("database")) > 1:
            yield draft.error(
                "vip-missing",
                DATABASE,
                "There are several nodes of the database, but no virtual address for them.",
                "no vip",
                f"vip: a free address of {draft.site.network.management}",
                "Add components.database.vip.",
            )
        return
    others = taken(draft)
    for component in COMPONENTS:
        held = component.holds(draft.site) if component.holds else None
        if held and component.name != "database":
            others.setdefault(IPv4Address(held[0]), f"the virtual address of {component.phase.title}")
    pool = draft.site.network.load_balancer
    if pool is not None and pool.first <= knobs.vip <= pool.last:
        others.setdefault(knobs.vip, "network.load_balancer")
    yield from free(draft, path, knobs.vip, others)


def port(draft: Draft) -> Iterator[Finding]:
    """No other service of its nodes listens on its port."""
    knobs = draft.site.components.database
    if knobs is None or not draft.ok(*DATABASE, "port"):
        return
    for _, node in draft.nodes("roles"):
        others = [
            p.program for n, p in listeners(draft.site, node) if n == knobs.port and p.program != "postgres"
        ]
        if "database" in node.roles and others:
            yield draft.error(
                "port-clash",
                (*DATABASE, "port"),
                f"Another service of {node.name} listens on the database's port.",
                f"{knobs.port}: {others[0]}",
                "a port of its own",
                "Choose another port; 5432 is PostgreSQL's own.",
                node.name,
            )
            return


def names(draft: Draft) -> Iterator[Finding]:
    """Databases are there once, and none has a name that is taken."""
    knobs = draft.site.components.database
    if knobs is None or not draft.ok(*DATABASE, "names"):
        return
    for i, name in enumerate(knobs.names):
        if name in TAKEN or name in knobs.names[:i] or name.startswith("pg_"):
            yield draft.error(
                "database-name",
                (*DATABASE, "names", i),
                "This name is taken.",
                name,
                "a name that is no other database's and not PostgreSQL's",
                "Choose another name.",
            )


RULES = [served, address, port, names]
