"""Cluster DNS, ingress, load balancer, states of objects."""

from __future__ import annotations

from avadm.components.commands import running
from avadm.components.model import Component, Packages, Peer, Phase, Port, Program, Question
from avadm.site.model import Site

DNS, INGRESS_METRICS, STATES = 53, 8082, 8085


def _holds(site: Site) -> tuple[str, str] | None:
    virtual = site.network.ingress_vip
    return (str(virtual), "ingress") if virtual and site.with_role("master") else None


COMPONENT = Component(
    phase=Phase(
        "addons",
        "cluster DNS, ingress, states of objects",
        "playbooks/addons.yml",
        ("nodes",),
        ("master", "dns", "ingress", "prometheus"),
        ("kube_addons", "coredns", "ingress", "load_balancer", "kube_state_metrics", "prometheus_pods"),
        ("kube_common", "kube_volumes"),
        only_with="master",
        artifacts=("coredns", "traefik", "kube-state-metrics"),
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
            peers=("prometheus",),
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
    certificates=(
        "/etc/avadm/*/*.crt",
        "/etc/coredns/*.crt",
        "/etc/kube-state-metrics/*.crt",
        "/etc/traefik/*.crt",
    ),
    configurations=("/etc/coredns/*", "/etc/keepalived/*", "/etc/traefik/*"),
    questions=(Question("dns", ("dns", "worker")),),
    holds=_holds,
)
