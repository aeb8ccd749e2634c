"""The part of a node's removal that concerns what several nodes serve alike: names, ingress, images, metrics, logs.

What others ask by this node's name is changed first, and only then it is stopped; a virtual address moves by itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

from avadm.catalogue import finding
from avadm.components.catalog import UPGRADES
from avadm.findings import Finding
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.removal_model import Leaving, Part, stop, withdraw
from avadm.operations.upgrade_nodes import UpgradeNodes
from avadm.site.model import Site
from avadm.site.placement import log_stores

LOG_STORE = "log_store"
"""What `--role` calls a node of `components.logs.stores`; the site file has no role of that name."""
CURL = "curl --silent --show-error --fail --output /dev/null --noproxy '*' --max-time 10"
COREDNS_READY, REGISTRY_METRICS = 8153, 5001
WELL_S = 180.0
"""Seconds without progress until the others serve."""


@dataclass(frozen=True, slots=True)
class Service:
    """What nodes with a role serve alike.

    Attributes:
        role: the role.
        title: what it is, for people.
        units: what is stopped, in this order.
        erased: files with secrets that a node without the role may not keep.
        address: the instance of keepalived; "" where it has no virtual address.
        ahead: phases that take the node out of what others ask, before it is stopped.
        health: given the site and a node's address, the command that asks what it serves there; None where
            `UpgradeNodes` asks it.
        data: what is on the node's own disk alone; given the node, "" where nothing is.
        lost: code of the finding about these data.
        pause: what users notice, and seconds of that.
    """

    role: str
    title: str
    units: tuple[str, ...]
    erased: tuple[str, ...] = ()
    address: str = ""
    ahead: tuple[str, ...] = ()
    health: Callable[[Site, str], str] | None = None
    data: Callable[[Leaving], str] | None = None
    lost: str = ""
    pause: tuple[str, float | None] = ("", 0.0)


def _images(leaving: Leaving) -> str:
    """Return what of the images is on the node alone: those that users pushed, where each registry has its own disk."""
    components = leaving.cluster.site.components
    shared = components.kubernetes.registry_storage == "cephfs" and components.ceph.filesystem
    return "" if shared else "/var/lib/docker-registry"


def _logs(leaving: Leaving) -> str:
    """Return the lines that no other store has: all of the only store."""
    return (
        ""
        if [n for n in log_stores(leaving.cluster.site) if n.name != leaving.name]
        else "/var/lib/avadm-logs"
    )


def _log_port(site: Site) -> int:
    return site.components.logs.port if site.components.logs else 0


SERVICES = (
    Service(
        LOG_STORE,
        "the log store",
        ("avadm-log-watch.timer", "avadm-log-store"),
        erased=("/etc/avadm/logs/store.key", "/etc/avadm/logs/store.password"),
        health=lambda site, address: (
            f"{CURL} --cacert /etc/avadm/logs/ca.crt https://{address}:{_log_port(site)}/health"
        ),
        data=_logs,
        lost="local-logs",
    ),
    Service(
        "ingress",
        "the ingress",
        ("traefik",),
        erased=("/etc/traefik/client.key", "/etc/traefik/own.key"),
        address="ingress",
        health=lambda site, address: "/usr/local/sbin/avadm-ingress-health",
        pause=("web pages through the virtual address of the ingress, where this node holds it", 10.0),
    ),
    Service(
        "dns",
        "CoreDNS",
        ("coredns",),
        erased=("/etc/coredns/client.key",),
        ahead=("addons",),
        health=lambda site, address: f"{CURL} http://{address}:{COREDNS_READY}/ready",
    ),
    Service(
        "registry",
        "the image registry",
        (
            "avadm-registry-gc.timer",
            "avadm-registry-due.timer",
            "avadm-registry-room.timer",
            "avadm-registry-space",
            "avadm-registry-users",
            "avadm-registry-writer",
            "avadm-registry",
        ),
        erased=("/etc/docker-registry/server.key",),
        # Nodes know the registry by /etc/hosts, pods by CoreDNS.
        ahead=("base", "addons"),
        health=lambda site, address: f"{CURL} http://{address}:{REGISTRY_METRICS}/metrics",
        data=_images,
        lost="local-images",
    ),
    Service(
        "prometheus",
        "Prometheus",
        ("prometheus", "prometheus-blackbox-exporter", "avadm-pod-targets"),
    ),
    Service("alertmanager", "Alertmanager", ("prometheus-alertmanager",)),
    Service(
        "grafana",
        "Grafana",
        ("grafana-server",),
        pause=("Grafana on this node; what was changed there by hand is not on another one", None),
    ),
)


def part(leaving: Leaving) -> Part:
    """Plan it: each service that the node loses."""
    steps: list[Step] = []
    refusals: list[Finding] = []
    interrupts: list[Interruption] = []
    for one in SERVICES:
        if one.role not in leaving.roles:
            continue
        steps += _steps(leaving, one)
        refusals += _refusals(leaving, one)
        if one.pause[0]:
            interrupts.append(Interruption(*one.pause))
    return Part(steps, refusals, interrupts)


def others(leaving: Leaving, one: Service) -> list[str]:
    """Return the other nodes that serve the same."""
    if one.role == LOG_STORE:
        return [n.name for n in log_stores(leaving.cluster.site) if n.name != leaving.name]
    return leaving.others(one.role)


def _refusals(leaving: Leaving, one: Service) -> list[Finding]:
    found = []
    left = others(leaving, one)
    if not left and one.role != "grafana":
        wanted = "another node that serves it"
        found.append(
            finding("last-of-role", found="no other", wanted=wanted, host=leaving.name, role=one.role)
        )
    elif left and one.health is not None and len(_silent(leaving, one)) == len(left):
        found.append(
            finding(
                "last-of-role",
                found=f"{', '.join(left)}: no answer",
                wanted="one that serves",
                host=leaving.name,
                role=one.role,
            )
        )
    if one.data is not None and (where := one.data(leaving)):
        found.append(finding(one.lost, where=where, found="on this node's disk alone", host=leaving.name))
    return found


def _steps(leaving: Leaving, one: Service) -> list[Step]:
    steps = []
    if one.ahead:
        nodes = tuple(n.name for n in leaving.cluster.site.nodes if n.name != leaving.name)
        steps.append(
            Step(
                f"have others ask another node for {one.title}: {', '.join(one.ahead)}",
                lambda tell: leaving.ahead(one.ahead, nodes, tell),
                nodes,
            )
        )

    def act(tell: Tell) -> None:
        if leaving.dead:
            return
        vip = leaving.cluster.site.network.ingress_vip if one.address else None
        front = [withdraw(one.address)] if vip else []
        erased = [f"rm -f {' '.join(map(shlex.quote, one.erased))}"] if one.erased else []
        leaving.run("; ".join([*front, stop(one.units), *erased]))

    gate = Gate(f"{one.title} answers on the nodes that are left", lambda: _look(leaving, one), WELL_S)
    if leaving.dead:
        return [*steps, Step(f"await {one.title} on other nodes", act, gate=gate)]
    return [*steps, Step(f"stop {one.title} on {leaving.name}", act, leaving.touched, gate=gate)]


def _silent(leaving: Leaving, one: Service) -> dict[str, str]:
    """Return node to why what it serves does not answer, of the others."""
    cluster, left = leaving.cluster, others(leaving, one)
    if one.health is not None:
        asked = {n: one.health(cluster.site, str(cluster.site.node(n).address)) for n in left}
        done = cluster.fleet.map(asked, timeout=60.0) if asked else {}
        return {n: str(found.error or found.complaint) for n, found in done.items() if not found.ok}
    if one.role in UPGRADES and left:
        # Of the site as it will be, so that this node is not counted.
        nodes = [n for n in cluster.site.nodes if n.name in left]
        after = replace(cluster.site_file, site=cluster.site.model_copy(update={"nodes": nodes}))
        return UpgradeNodes(replace(cluster, site_file=after)).troubles(UPGRADES[one.role][1])
    return {}


def _look(leaving: Leaving, one: Service) -> Progress:
    silent = _silent(leaving, one)
    return Progress("; ".join(f"{n}: {why}" for n, why in sorted(silent.items())), float(len(silent)))
