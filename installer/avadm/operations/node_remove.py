"""Removing a node, or one of its roles, from a running site: its data and pods first, then every trace of it, then the site file.

The order is that in which nothing is lost and the same command continues: as long as the site file names the node, its daemons
can be asked for; what is left after that needs its name alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.components.catalog import PHASES
from avadm.findings import Finding
from avadm.operations import drain, removal_ceph, removal_host, removal_kubernetes, removal_records
from avadm.operations.follow import follow
from avadm.operations.model import Operation, Tell
from avadm.operations.removal_model import Leaving
from avadm.operations.removal_records import Follow
from avadm.site.load import SiteFile
from avadm.site.model import Node
from avadm.state.operations import OperationRecord

VERB = "node remove"
SINGLY = frozenset({"worker", "osd", "mds", "rgw", "mgr", "mon", "alluxio_worker"})
"""Roles that can be taken from a node that stays."""
SUPPORTED = SINGLY | {"client", "gpu", "alluxio_client"}
"""Roles of nodes that can be removed as a whole."""
ACCEPTABLE = frozenset({"local-volumes", "space-short"}) | drain.ACCEPTABLE

DRAIN = drain.DrainOptions(timeout=1800.0)
"""How a worker is drained where the user does not choose."""


def command(name: str, role: str = "", dead: bool = False, accepted: Collection[str] = ()) -> str:
    """Return the command that continues a removal."""
    words = [*(["--role", role] if role else []), *(["--dead"] if dead else [])]
    words += [word for one in sorted(accepted) for word in ("--accept", one)]
    return " ".join(["avadm node remove", name, *words])


def build(
    cluster: Cluster,
    name: str,
    role: str = "",
    dead: bool = False,
    accepted: Collection[str] = (),
    follow: Follow | None = None,
    options: drain.DrainOptions | None = None,
) -> Operation:
    """Plan a removal from what the cluster reports.

    Args:
        cluster: the site.
        name: the node.
        role: the role that it loses; the node leaves altogether where empty.
        dead: whether it does not answer and never will.
        accepted: ids of refusals that the user accepts.
        follow: runs what the changed site file asks for; `follow.follow` where None.
        options: how a worker is drained.

    Raises:
        AvadmError: ceph or Kubernetes cannot be asked.
    """
    options = options or DRAIN
    line = drain.continued(cluster.state, command(name, role, dead, accepted), options)
    node = next((n for n in cluster.site.nodes if n.name == name), None)
    # What leaves is not asked about the others: it may be dead, or half gone.
    cluster = replace(cluster, avoided=cluster.avoided | {name})
    after = follow or _following(cluster)
    begun = next((one for one in cluster.state.begun() if one.command == line), None)
    if node is None:
        return _end(cluster, name, begun, line, after)
    leaving = Leaving(
        cluster, node, frozenset({role} if role else node.roles), not role, dead, frozenset(accepted), options
    )
    if bad := _unfit(leaving, role, begun):
        return Operation(VERB, line, (), refusals=bad, acceptable=ACCEPTABLE)
    parts = [removal_kubernetes.part(leaving), removal_ceph.part(leaving), removal_host.part(leaving)]
    coming, findings = removal_records.considered(leaving)
    steps = [step for one in parts for step in one.steps]
    if coming is not None:
        steps += removal_records.steps(leaving, coming, after)
    return Operation(
        VERB,
        line,
        steps,
        _components(cluster, name),
        [what for one in parts for what in one.interrupts],
        runs=[run for one in parts for run in one.runs],
        refusals=[*(bad for one in parts for bad in one.refusals), *findings],
        acceptable=ACCEPTABLE,
    )


def _following(cluster: Cluster) -> Follow:
    def run(site_file: SiteFile, tell: Tell) -> None:
        follow(cluster, site_file, tell)

    return run


def _end(cluster: Cluster, name: str, begun: OperationRecord | None, line: str, after: Follow) -> Operation:
    """Return what is left of a removal whose node is not in the site file any more; refused where none was begun."""
    if begun is None:
        known = ", ".join(n.name for n in cluster.site.nodes)
        bad = finding("unknown-node", where="NAME", found=name, wanted=f"one of {known}")
        return Operation(VERB, line, (), refusals=[bad], acceptable=ACCEPTABLE)
    gone = Node.model_construct(name=name, roles=[], devices=[])
    leaving = Leaving(cluster, gone, frozenset(), whole=True, dead=True)
    step = removal_records.last(leaving, cluster.site_file, after)
    return Operation(VERB, line, [step], frozenset(begun.components), acceptable=ACCEPTABLE)


def _unfit(leaving: Leaving, role: str, begun: OperationRecord | None) -> list[Finding]:
    """Return what speaks against a removal before the cluster is asked; all of one pass."""
    node, cluster = leaving.node, leaving.cluster
    found: list[Finding] = []
    held: set[str] = set(node.roles)
    if "mon" in leaving.roles and role and role not in held and removal_ceph.has_monitor(leaving):
        # Moved: the site file has named another node, and this monitor is left over.
        held.add(role)
    if role and role not in held and begun is None:
        found.append(
            finding(
                "role-absent",
                found=", ".join(sorted(held)) or "no role",
                wanted=role,
                host=node.name,
                role=role,
            )
        )
    for one in sorted(leaving.roles - (SINGLY if role else SUPPORTED)):
        found.append(finding("role-not-supported", found=one, host=node.name, role=one))
    for note, value in cluster.state.notes().items():
        kind, _, title = note.partition(" ")
        if kind == "maintenance" and (title == node.name or node.name in value.get("nodes", ())):
            found.append(finding("node-in-maintenance", found=note, host=node.name, name=node.name))
    answers = cluster.fleet.run(node.name, "true", timeout=20.0).error is None
    if answers and leaving.dead:
        found.append(finding("not-dead", found="it answers", wanted="a node that is off", host=node.name))
    if not answers and not leaving.dead:
        found.append(finding("node-silent", found="no answer", wanted="an answer over ssh", host=node.name))
    return found


def _components(cluster: Cluster, name: str) -> frozenset[str]:
    """Return the components that the node is part of."""
    return frozenset(phase.name for phase in PHASES if name in phase.hosts(cluster.site))
