"""Rules over who does what: quorums are odd, nothing needed is missing, nothing idles unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from avadm.findings import Finding, Severity
from avadm.site.draft import CEPH_ROLES, Draft
from avadm.site.model import Node

NODES = ("nodes",)


def listed_twice(draft: Draft) -> Iterator[Finding]:
    """A node lists each role once."""
    for i, node in draft.nodes("roles"):
        for role in sorted({r for r in node.roles if node.roles.count(r) > 1}):
            yield draft.finding(
                "duplicate-role",
                ("nodes", i, "roles"),
                ", ".join(node.roles),
                "each role once",
                host=node.name,
                name=node.name,
                role=role,
            )


def absent(
    draft: Draft, needs: Mapping[str, str], numbers: Mapping[str, str], otherwise: str = ""
) -> Iterator[Finding]:
    """Roles that no node has.

    Args:
        draft: the site.
        needs: role to what it does.
        numbers: role to how many there may be, where one is not enough.
        otherwise: what can be done instead of giving a node the role; begins with a comma.
    """
    for role, why in needs.items():
        if not draft.has(role):
            yield draft.finding(
                "role-missing-any",
                NODES,
                f"no {role}",
                f"{numbers.get(role, 'at least 1')} {role}",
                role=role,
                why=why,
                otherwise=otherwise,
            )


def even(members: Sequence[Node]) -> Severity | None:
    """Return how bad an even number of members is: four, on the way from or to five, survive as much as three."""
    return Severity.WARNING if len(members) > 2 else None


def ceph_complete(draft: Draft) -> Iterator[Finding]:
    """A storage cluster has monitors (an odd number), managers and OSDs."""
    if not draft.whole("roles") or not draft.has(*CEPH_ROLES):
        return
    needs = {
        "mon": "keeps the cluster's maps",
        "mgr": "reports its state",
        "osd": "stores the data",
    }
    yield from absent(draft, needs, {"mon": "1, 3 or 5"})
    mons = draft.site.with_role("mon")
    if mons and len(mons) % 2 == 0:
        shown = f"{len(mons)}: {_names(draft, 'mon')}"
        yield draft.finding("quorum-even-mon", NODES, shown, "1, 3 or 5 mon", severity=even(mons))
    elif len(mons) == 1:
        yield draft.finding("quorum-single", NODES, "1", "3 or 5 mon")
    elif len(mons) > 7:
        yield draft.finding("quorum-large-mon", NODES, len(mons), "3 or 5 mon")
    if len(draft.site.with_role("mgr")) == 1:
        yield draft.finding("no-standby-mgr", NODES, "1 mgr", "at least 2 mgr")


def filesystem(draft: Draft) -> Iterator[Finding]:
    """The file system has a metadata server per rank, and one to spare."""
    if not draft.whole("roles") or not draft.ok("components", "ceph") or not draft.has(*CEPH_ROLES):
        return
    count, fs = len(draft.site.with_role("mds")), draft.site.components.ceph.filesystem
    path = ("components", "ceph", "filesystem")
    if fs is None:
        if count:
            yield draft.finding(
                "role-unused-mds", path, f"{count} mds", "no mds, or components.ceph.filesystem"
            )
    elif count < fs.active_mds:
        yield draft.finding(
            "mds-too-few",
            path,
            f"{count} mds",
            f"at least {fs.active_mds} (active_mds), better {fs.active_mds + 1}",
        )
    elif count == fs.active_mds:
        yield draft.finding(
            "no-standby-mds",
            path,
            f"{count} mds for {fs.active_mds} ranks",
            f"at least {fs.active_mds + 1} mds",
        )


def clients(draft: Draft) -> Iterator[Finding]:
    """Someone uses the storage."""
    if draft.whole("roles") and draft.has("osd") and not draft.has("client"):
        yield draft.finding("no-client", NODES, "0 client", "at least 1 client")


def monitoring(draft: Draft) -> Iterator[Finding]:
    """Prometheus comes as 2 or 3 replicas with Alertmanagers, or is the site's own and none is installed."""
    if not draft.whole("roles") or not draft.ok("components", "monitoring", "existing"):
        return
    counts = {r: len(draft.site.with_role(r)) for r in ("prometheus", "alertmanager", "grafana")}
    if existing := draft.site.components.monitoring.existing:
        for role in ("prometheus", "alertmanager"):
            if counts[role]:
                yield draft.finding(
                    "role-unused-monitoring",
                    ("components", "monitoring", "existing"),
                    f"{len(existing)} URLs, nodes: {_names(draft, role)}",
                    f"no {role}, or no components.monitoring.existing",
                    role=role,
                )
        return
    if counts["prometheus"] not in (0, 2, 3):
        yield draft.finding(
            "prometheus-replicas",
            NODES,
            f"{counts['prometheus']}: {_names(draft, 'prometheus')}",
            "2 or 3 prometheus",
        )
    if not counts["prometheus"]:
        yield draft.finding("no-monitoring", NODES, "0 prometheus", "2 or 3 prometheus")
        for role in ("alertmanager", "grafana"):
            if counts[role]:
                yield draft.finding(
                    "role-unused-prometheus", NODES, _names(draft, role), "2 or 3 prometheus", role=role
                )
    elif not counts["alertmanager"]:
        yield draft.finding("no-alertmanager", NODES, "0 alertmanager", "2 or 3 alertmanager")
    elif counts["alertmanager"] == 1:
        yield draft.finding("no-standby-alertmanager", NODES, "1 alertmanager", "2 or 3 alertmanager")


def idle(draft: Draft) -> Iterator[Finding]:
    """Nodes without roles are seen; one finding names them all."""
    without = [(i, n.name) for i, n in draft.nodes("roles", "name") if not n.roles]
    if without:
        names = [name for _, name in without]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield draft.finding(
            "node-without-roles", ("nodes", without[0][0]), ", ".join(names[:5]) + more, "at least one role"
        )


def _names(draft: Draft, role: str) -> str:
    return ", ".join(n.name for n in draft.site.with_role(role))


RULES = [listed_twice, ceph_complete, filesystem, clients, monitoring, idle]
