"""The logs of all nodes and pods, in stores of the site's own."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Program,
    Stage,
)
from avadm.components.version_commands import running
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import log_stores

STORE, SHIPPER = "log-store", "log-shipper"
"""Duties: the node keeps logs; the node sends its own."""


def shippers(site: Site) -> list[Node]:
    """Return the nodes whose logs are kept: all, or none without stores."""
    return list(site.nodes) if site.components.logs else []


def _port(site: Site) -> int | None:
    return site.components.logs.port if site.components.logs else None


def _log_store(node: Node, site: Site) -> Leaf:
    return Leaf(
        f"log-store-{node.name}",
        Authority.LOGS,
        f"log-store-{node.name}",
        f"log-store-{node.name}",
        names=(*names(node, site), *LOCAL[0]),
        addresses=(str(node.address), *LOCAL[1]),
        server=True,
        client=False,
    )


def _platform(site: Site) -> int | None:
    return _port(site) if site.components.ava else None


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of the stores."""
    for node in log_stores(site):
        yield _log_store(node, site)


COMPONENT = Component(
    phase=Phase(
        "logs",
        "logs of nodes and pods",
        "playbooks/logs.yml",
        ("base", "monitoring"),
        (),
        ("log_store", "log_shipper", "log_watch"),
        artifacts=("victoria-logs", "avadm-node-log-shipper", "avadm-node-log-watch"),
        component="logs",
        apart=True,
    ),
    duties={STORE: log_stores, SHIPPER: shippers},
    packages={SHIPPER: Packages(late=("log_shipper",))},
    ports=(
        Port(
            number=_port,
            key=("components", "logs", "port"),
            usual=9428,
            program="victoria-logs",
            what="logs of all nodes",
            duty=STORE,
            peers=(Peer.NODES, Peer.OUTSIDE),
            tls=True,
            who="user and password",
            always=True,
            taken=False,
        ),
        # The node's filter cannot tell one pod from another; users' pods are held off by their own network policies.
        Port(
            number=_platform,
            key=("components", "logs", "port"),
            usual=9428,
            program="victoria-logs",
            what="logs of runs, for the platform's API",
            duty=STORE,
            peers=(Peer.PODS,),
            tls=True,
            who="user and password",
            taken=False,
        ),
    ),
    programs=(Program("victoria-logs", (STORE,), running("avadm-log-store", "-version")),),
    leaves=leaves,
    questions=(Probe("log_store", (STORE,)), Probe("log_shipper", (SHIPPER,))),
    daemons=(
        Daemon(
            stage=Stage.JOBS,
            units=("avadm-log-watch.timer",),
            duties=(SHIPPER,),
            ends=("avadm-log-watch.service",),
        ),
        Daemon(stage=Stage.WATCH, units=("avadm-log-store.service",), duties=(STORE,)),
    ),
)
