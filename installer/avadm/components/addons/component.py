"""Cluster DNS, ingress, load balancer, states of objects."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.ava.component import services, workbenches
from avadm.components.model import (
    At,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Program,
    Stage,
    Virtual,
)
from avadm.components.version_commands import running
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import balances

DNS, INGRESS_METRICS, INGRESS_CALLERS, STATES = 53, 8082, 8083, 8085


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of what is installed into the cluster."""
    if site.with_role("master") and site.with_role("etcd"):
        for node in site.nodes:
            yield from _of_node(node, site)


def _of_node(node: Node, site: Site) -> Iterator[Leaf]:
    kubernetes = Authority.KUBERNETES
    if "dns" in node.roles:
        yield Leaf(f"coredns-{node.name}", kubernetes, f"dns-{node.name}", "coredns")
    if "prometheus" in node.roles and not site.components.monitoring.existing:
        yield Leaf(f"pod-targets-{node.name}", kubernetes, f"pod-targets-{node.name}", "pod-targets")
    if "master" in node.roles:
        yield Leaf(f"kube-state-metrics-{node.name}", kubernetes, f"states-{node.name}", "kube-state-metrics")
    if "ingress" in node.roles:
        owner, virtual = f"ingress-{node.name}", site.network.ingress_vip
        yield Leaf(f"ingress-{node.name}", kubernetes, owner, "ingress")
        if balances(site):
            yield Leaf(f"load-balancer-{node.name}", kubernetes, owner, "load-balancer")
        yield Leaf(
            f"ingress-server-{node.name}",
            kubernetes,
            owner,
            f"ingress.{site.network.domain}",
            names=(f"ingress.{site.network.domain}", f"*.{site.network.domain}", *_below(site)),
            addresses=(str(node.address), *([str(virtual)] if virtual else [])),
            server=True,
            client=False,
        )


def _below(site: Site) -> list[str]:
    """Return the names of all workbenches and services: a certificate's star is one label alone."""
    return [f"*.{below}" for below in (workbenches(site), services(site)) if below]


COMPONENT = Component(
    phase=Phase(
        "addons",
        "cluster DNS, ingress, states of objects",
        "playbooks/addons.yml",
        ("nodes",),
        ("master", "dns", "ingress", "prometheus"),
        ("kube_addons", "coredns", "ingress", "load_balancer", "kube_state_metrics", "prometheus_pods"),
        ("vip", "kube_volumes"),
        only_with="master",
        of_some={"coredns_site_hosts": "dns"},
        artifacts=(
            "coredns",
            "traefik",
            "kube-state-metrics",
            "avadm-node-balancer",
            "avadm-node-pod-targets",
        ),
    ),
    packages={"ingress": Packages(base=("ingress",))},
    ports=(
        *(
            Port(
                number=DNS,
                program="coredns",
                what="CoreDNS",
                duty="dns",
                protocol=protocol,
                peers=(Peer.ALL,),
                who="all",
                always=protocol == "tcp",
            )
            for protocol in ("tcp", "udp")
        ),
        *(
            Port(
                number=number,
                program="coredns",
                what=f"CoreDNS' {what}",
                duty="dns",
                peers=("prometheus",),
                who="all",
            )
            for number, what in ((8053, "health"), (8153, "readiness"), (9153, "metrics"))
        ),
        *(
            Port(
                number=number,
                program="traefik",
                what="what users are served",
                duty="ingress",
                peers=(Peer.ALL,),
                tls=number == 443,
                who="all",
                always=True,
            )
            for number in (80, 443)
        ),
        Port(
            number=INGRESS_METRICS,
            program="traefik",
            what="traefik's health and metrics",
            duty="ingress",
            # The platform's operator counts what services are asked (pods, which come as their nodes).
            peers=("prometheus", Peer.PODS, "worker"),
            who="all",
        ),
        Port(
            number=INGRESS_CALLERS,
            program="traefik",
            what="traefik's own question who may call a service",
            duty="ingress",
            at=At.LOOPBACK,
            who="all",
        ),
        *(
            Port(
                number=number,
                program="kube-state-metrics",
                what=f"kube-state-metrics: of {what}",
                duty="master",
                peers=("prometheus",),
                who="all",
            )
            for number, what in ((STATES, "objects"), (STATES + 1, "itself"))
        ),
    ),
    programs=(
        Program("coredns", ("dns",), running("coredns")),
        Program("traefik", ("ingress",), running("traefik", "version")),
        Program("kube-state-metrics", ("master",), running("kube-state-metrics")),
    ),
    leaves=leaves,
    certificates=(
        "/etc/avadm/*/*.crt",
        "/etc/coredns/*.crt",
        "/etc/kube-state-metrics/*.crt",
        "/etc/traefik/*.crt",
    ),
    configurations=("/etc/coredns/*", "/etc/keepalived/*.conf", "/etc/keepalived/conf.d/*", "/etc/traefik/*"),
    questions=(Probe("dns", ("dns", "worker")),),
    virtual=Virtual("ingress", ("network", "ingress_vip")),
    daemons=(
        Daemon(
            stage=Stage.ENTRANCES, units=("traefik.service", "avadm-balancer.service"), duties=("ingress",)
        ),
        Daemon(stage=Stage.CONTROL, units=("kube-state-metrics.service",), duties=("master",)),
        Daemon(stage=Stage.CONTROL, units=("coredns.service",), duties=("dns",)),
        Daemon(stage=Stage.CONTROL, units=("avadm-pod-targets.service",), duties=("prometheus",)),
    ),
)
