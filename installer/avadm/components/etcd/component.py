"""Kubernetes' database."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    At,
    Bootstrap,
    Component,
    Daemon,
    Packages,
    Phase,
    Port,
    Probe,
    Program,
    Stage,
    Upgradable,
)
from avadm.pki.model import PROMETHEUS, Authority, Leaf
from avadm.site.model import Node, Site

CLIENTS, MEMBERS, METRICS = 2379, 2380, 2381
_CLIENT = (
    *("--cacert", "/etc/etcd/pki/ca.crt"),
    *("--cert", "/etc/etcd/pki/client.crt"),
    *("--key", "/etc/etcd/pki/etcd.key"),
)


ETCD_ROOT = "root"
"""User of etcd's administrator and of the API servers: etcd knows this name."""
ETCD_CALICO = "calico"


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the members' certificates, and that of Prometheus."""
    for node in site.with_role("etcd"):
        yield from _of_node(node, site)
    if site.with_role("etcd"):
        yield Leaf("prometheus-etcd", Authority.ETCD, PROMETHEUS, "prometheus")


def _of_node(node: Node, site: Site) -> Iterator[Leaf]:
    own = (*names(node, site), *LOCAL[0])
    addresses = (str(node.address), *LOCAL[1])
    owner = f"etcd-{node.name}"
    # A server's certificate is a client's too: etcd's own gateway calls its own port with it. Members have an authority of
    # their own: every node's Calico has a client's certificate, and is no member.
    for use, authority in (("server", Authority.ETCD), ("peer", Authority.ETCD_PEERS)):
        yield Leaf(
            f"etcd-{use}-{node.name}",
            authority,
            owner,
            node.name,
            names=own,
            addresses=addresses,
            server=True,
        )
    yield Leaf(f"etcd-client-{node.name}", Authority.ETCD, owner, ETCD_ROOT)


COMPONENT = Component(
    phase=Phase("etcd", "Kubernetes' database", "playbooks/etcd.yml", ("base",), ("etcd",), ("etcd",)),
    packages={"etcd": Packages(late=("etcd",))},
    ports=(
        Port(
            number=CLIENTS,
            program="etcd",
            what="clients (metrics too)",
            duty="etcd",
            # API servers; every node's Calico; Prometheus.
            peers=("master", "worker", "prometheus", "etcd"),
            tls=True,
            who="certificates of etcd's authority",
            always=True,
        ),
        Port(
            number=MEMBERS,
            program="etcd",
            what="members",
            duty="etcd",
            peers=("etcd",),
            tls=True,
            who="certificates of the authority of members",
            always=True,
        ),
        Port(number=METRICS, program="etcd", what="etcd's metrics", duty="etcd", at=At.LOOPBACK, taken=False),
    ),
    programs=(
        Program(
            "etcd",
            ("etcd",),
            ("curl", "--silent", "--noproxy", "*", *_CLIENT, f"https://127.0.0.1:{CLIENTS}/version"),
        ),
    ),
    leaves=leaves,
    certificates=("/etc/etcd/pki/*.crt",),
    configurations=("/etc/default/etcd", "/etc/etcd/*"),
    questions=(Probe("etcd", ("etcd",)), Probe("etcd_peers", ("etcd",))),
    bootstrap=Bootstrap("etcd", "etcd", "etcd", alone=True),
    # No way back: with authentication on, etcd's downgrade of a running cluster is not supported.
    upgrades=(
        Upgradable(
            name="etcd",
            role="etcd",
            duty="etcd",
            adjacent=True,
            interrupts=("Kubernetes' API: etcd has one member, which is restarted", 30.0),
            together=("Kubernetes' API: writes wait while etcd chooses a leader", 10.0),
        ),
    ),
    daemons=(
        Daemon(
            stage=Stage.JOBS,
            units=("avadm-etcd-snapshot.timer", "avadm-etcd-defrag.timer"),
            duties=("etcd",),
            ends=("avadm-etcd-snapshot.service", "avadm-etcd-defrag.service"),
        ),
        Daemon(stage=Stage.ETCD, units=("etcd.service",), duties=("etcd",)),
    ),
)
