"""Rules over PostgreSQL: somebody runs it, etcd is there to choose its primary, its address is its own."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.database.component import OWN, VIRTUAL
from avadm.components.objects.object_pools import database_backups, own_backups
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.profile import Profile
from avadm.site.rules import virtual
from avadm.site.source import KeyPath

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
            yield draft.finding(
                "role-unused-database",
                ("nodes",),
                ", ".join(n.name for n in nodes),
                "components.database, or no database",
            )
        return
    for role, why in (("database", "runs PostgreSQL"), ("etcd", "keeps which of them is its primary")):
        if not draft.has(role):
            yield draft.finding(
                "role-missing-database", DATABASE, f"no {role}", f"at least 1 {role}", role=role, why=why
            )
    if len(nodes) == 1:
        yield draft.finding("no-standby-ava", DATABASE, f"1 database: {nodes[0].name}", "2 database, and vip")


def address(draft: Draft) -> Iterator[Finding]:
    """Several nodes have a virtual address, which is no one else's."""
    if draft.site.components.database and draft.ok(*DATABASE) and draft.whole("roles"):
        yield from virtual.wanted(draft, VIRTUAL, "nodes of the database")


def names(draft: Draft) -> Iterator[Finding]:
    """Databases are there once, and none has a name that is taken."""
    knobs = draft.site.components.database
    if knobs is None or not draft.ok(*DATABASE, "names"):
        return
    for i, name in enumerate(knobs.names):
        if name in TAKEN or name in knobs.names[:i] or name.startswith("pg_"):
            yield draft.finding(
                "database-name",
                (*DATABASE, "names", i),
                name,
                "a name that is no other database's and not PostgreSQL's",
            )


def backups(draft: Draft) -> Iterator[Finding]:
    """Backups have a place, and one that pgbackrest can list."""
    knobs = draft.site.components.database
    if knobs is None or knobs.backup is None or not draft.ok("components") or not draft.whole("roles"):
        return
    if not database_backups(draft.site):
        yield draft.finding(
            "no-backups",
            DATABASE,
            "no object store, and no folder",
            "components.object_store, or backup: {directory: FOLDER}",
        )
    elif own_backups(draft.site) and draft.profile and not _lists(draft.profile):
        yield draft.finding(
            "backups-list",
            (*DATABASE, "backup"),
            f"profile {draft.site.profile}",
            "backup: {directory: FOLDER}",
        )


def _lists(profile: Profile) -> bool:
    """Return whether gateways of a profile list objects as pgbackrest asks."""
    return bool(profile.features.get("objects_list_v2", True))


RULES = [served, address, names, backups]
