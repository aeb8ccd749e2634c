"""Rules over who does what: quorums are odd, nothing needed is missing, nothing idles unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from avadm.findings import Finding
from avadm.site.draft import CEPH_ROLES, Draft

NODES = ("nodes",)


def listed_twice(draft: Draft) -> Iterator[Finding]:
    """A node lists each role once."""
    for i, node in draft.nodes("roles"):
        for role in sorted({r for r in node.roles if node.roles.count(r) > 1}):
            yield draft.error(
                "duplicate-role",
                ("nodes", i, "roles"),
                f"{node.name} lists the role {role} twice.",
                ", ".join(node.roles),
                "each role once",
                "Remove one.",
                node.name,
            )


def absent(
    draft: Draft, needs: Mapping[str, str], numbers: Mapping[str, str], otherwise: str = ""
) -> Iterator[Finding]:
    """Roles that no node has.

    Args:
        draft: the site.
        needs: role to what it does.
        numbers: role to how many there may be, where one is not enough said.
        otherwise: what can be done instead of giving a node the role; begins with a comma.
    """
    for role, why in needs.items():
        if not draft.has(role):
            yield draft.error(
                "role-missing",
                NODES,
                f"No node has the role {role}, which {why}.",
                f"no {role}",
                f"{numbers.get(role, 'at least 1')} {role}",
                f"Give a node the role {role}{otherwise}.",
            )


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
        yield draft.error(
            "quorum-even",
            NODES,
            "An even number of monitors survives no more losses than one fewer.",
            f"{len(mons)}: {_names(draft, 'mon')}",
            "1, 3 or 5 mon",
            "Add or remove one.",
        )
    elif len(mons) == 1:
        yield draft.warning(
            "quorum-single",
            NODES,
            "The loss of the one monitor stops all storage.",
            "1",
            "3 or 5 mon",
            "Give the role mon to two more nodes.",
        )
    elif len(mons) > 7:
        yield draft.warning(
            "quorum-large", NODES, "Every monitor slows every change of the maps.", len(mons), "3 or 5 mon"
        )
    if len(draft.site.with_role("mgr")) == 1:
        yield draft.warning(
            "no-standby",
            NODES,
            "The one manager has no standby.",
            "1 mgr",
            "at least 2 mgr",
            "Give the role mgr to the mon nodes.",
        )


def filesystem(draft: Draft) -> Iterator[Finding]:
    """The file system has a metadata server per rank, and one to spare."""
    if not draft.whole("roles") or not draft.ok("components", "ceph") or not draft.has(*CEPH_ROLES):
        return
    count, fs = len(draft.site.with_role("mds")), draft.site.components.ceph.filesystem
    path = ("components", "ceph", "filesystem")
    if fs is None:
        if count:
            yield draft.error(
                "role-unused",
                path,
                "There are metadata servers but no file system.",
                f"{count} mds",
                "no mds, or components.ceph.filesystem",
                "Remove the role mds, or `filesystem: null`.",
            )
    elif count < fs.active_mds:
        yield draft.error(
            "mds-too-few",
            path,
            "There are fewer metadata servers than ranks.",
            f"{count} mds",
            f"at least {fs.active_mds} (active_mds), better {fs.active_mds + 1}",
            "Give the role mds to more nodes, or set `components: {ceph: {filesystem: null}}`.",
        )
    elif count == fs.active_mds:
        yield draft.warning(
            "no-standby",
            path,
            "No metadata server stands by: the loss of one stops a part of the file system.",
            f"{count} mds for {fs.active_mds} ranks",
            f"at least {fs.active_mds + 1} mds",
            "Give the role mds to one more node.",
        )


def clients(draft: Draft) -> Iterator[Finding]:
    """Someone uses the storage."""
    if draft.whole("roles") and draft.has("osd") and not draft.has("client"):
        yield draft.warning(
            "no-client",
            NODES,
            "No node is a storage client, so that nothing mounts or measures the storage.",
            "0 client",
            "at least 1 client",
            "Give the role client to compute nodes.",
        )


def monitoring(draft: Draft) -> Iterator[Finding]:
    """Prometheus comes as 2 or 3 replicas with Alertmanagers, or is the site's own and none is installed."""
    if not draft.whole("roles") or not draft.ok("components", "monitoring", "existing"):
        return
    counts = {r: len(draft.site.with_role(r)) for r in ("prometheus", "alertmanager", "grafana")}
    if existing := draft.site.components.monitoring.existing:
        for role in ("prometheus", "alertmanager"):
            if counts[role]:
                yield draft.error(
                    "role-unused",
                    ("components", "monitoring", "existing"),
                    f"The site's own monitoring is used, so that no {role} is installed.",
                    f"{len(existing)} URLs, nodes: {_names(draft, role)}",
                    f"no {role}, or no components.monitoring.existing",
                    f"Remove the role {role}, or components.monitoring.existing.",
                )
        return
    if counts["prometheus"] not in (0, 2, 3):
        yield draft.error(
            "prometheus-replicas",
            NODES,
            "Prometheus runs as two or three equal replicas.",
            f"{counts['prometheus']}: {_names(draft, 'prometheus')}",
            "2 or 3 prometheus",
            "Give the role prometheus to two or three nodes.",
        )
    if not counts["prometheus"]:
        yield draft.warning(
            "no-monitoring",
            NODES,
            "Nothing watches this site.",
            "0 prometheus",
            "2 or 3 prometheus",
            "Give nodes the roles prometheus and alertmanager, or name the site's own servers in "
            "components.monitoring.existing.",
        )
        for role in ("alertmanager", "grafana"):
            if counts[role]:
                yield draft.error(
                    "role-unused",
                    NODES,
                    f"There is {role} but no Prometheus.",
                    _names(draft, role),
                    "2 or 3 prometheus",
                    f"Add the role prometheus, or remove {role}.",
                )
    elif not counts["alertmanager"]:
        yield draft.warning(
            "no-alertmanager",
            NODES,
            "Alerts would reach nobody.",
            "0 alertmanager",
            "2 or 3 alertmanager",
            "Give the role alertmanager to the prometheus nodes.",
        )
    elif counts["alertmanager"] == 1:
        yield draft.warning(
            "no-standby",
            NODES,
            "The one Alertmanager has no peer.",
            "1 alertmanager",
            "2 or 3 alertmanager",
            "Give the role alertmanager to one more node.",
        )


def idle(draft: Draft) -> Iterator[Finding]:
    """Nodes without roles are seen; one finding names them all."""
    without = [(i, n.name) for i, n in draft.nodes("roles", "name") if not n.roles]
    if without:
        names = [name for _, name in without]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield draft.warning(
            "node-without-roles",
            ("nodes", without[0][0]),
            "Nodes without roles get only the base and node_exporter.",
            ", ".join(names[:5]) + more,
            "at least one role",
            "Give them roles, or leave it so.",
        )


def _names(draft: Draft, role: str) -> str:
    return ", ".join(n.name for n in draft.site.with_role(role))


RULES = [listed_twice, ceph_complete, filesystem, clients, monitoring, idle]
