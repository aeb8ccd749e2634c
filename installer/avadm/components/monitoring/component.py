"""Metrics and alerts: an exporter on every node, Prometheus twice, Alertmanager's mesh."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    EVERYWHERE,
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
    Upgradable,
)
from avadm.components.version_commands import running
from avadm.pki.model import GRAFANA, PROMETHEUS, Authority, Leaf
from avadm.site.model import Site
from avadm.site.placement import alertmanagers, metered

NODE_EXPORTER, SERVER, ALERTMANAGER, GOSSIP, BLACKBOX = 9100, 9090, 9093, 9094, 9115


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of Alertmanager's mesh, of exporters, of Prometheus and of grafana."""
    members = alertmanagers(site)
    for node in members:
        # Each speaks to the others, and serves them and Prometheus.
        name = f"alertmanager-{node.name}"
        own, addresses = (*names(node, site), *LOCAL[0]), (str(node.address), *LOCAL[1])
        yield Leaf(name, Authority.MONITORING, name, name, names=own, addresses=addresses, server=True)
    if members:
        yield Leaf("prometheus-alerts", Authority.MONITORING, PROMETHEUS, "prometheus")
    if not metered(site):
        return
    for node in site.nodes:
        # For its exporter, and for Prometheus where there is one: it serves, and opens no other's port.
        name = f"metrics-{node.name}"
        own, addresses = (*names(node, site), *LOCAL[0]), (str(node.address), *LOCAL[1])
        yield Leaf(
            name, Authority.METRICS, name, name, names=own, addresses=addresses, server=True, client=False
        )
    yield Leaf("prometheus-metrics", Authority.METRICS, PROMETHEUS, "prometheus")
    if site.with_role("grafana"):
        yield Leaf("grafana-metrics", Authority.METRICS, GRAFANA, "grafana")


def _platform(site: Site) -> int | None:
    return SERVER if site.components.ava and metered(site) else None


COMPONENT = Component(
    phase=Phase(
        "monitoring",
        "metrics and alerts",
        "playbooks/monitoring.yml",
        ("base",),
        (),
        ("node_exporter", "alertmanager", "prometheus", "blackbox_exporter"),
        ("grafana",),
        apart=True,
        # Each new node is one more target: for the others that is no work. What is handed over is never proven, so always done.
        of_some={"prometheus_targets": "prometheus"},
    ),
    packages={
        EVERYWHERE: Packages(base=("node_exporter",)),
        "prometheus": Packages(base=("prometheus", "blackbox_exporter")),
        "alertmanager": Packages(base=("alertmanager",)),
    },
    ports=(
        Port(
            number=NODE_EXPORTER,
            program="prometheus-node-exporter",
            what="metrics of the node",
            peers=("prometheus",),
            tls=True,
            who="certificates of the authority `metrics`",
        ),
        Port(
            number=SERVER,
            program="prometheus",
            what="Prometheus",
            duty="prometheus",
            # People look at it; grafana asks it.
            peers=("prometheus", "grafana", Peer.OUTSIDE),
            tls=True,
            who="certificates of the authority `metrics`",
            always=True,
        ),
        # The node's filter cannot tell one pod from another; users' pods are held off by their own network policies.
        Port(
            number=_platform,
            usual=SERVER,
            program="prometheus",
            what="figures of runs, for the platform's web site",
            duty="prometheus",
            peers=(Peer.PODS,),
            tls=True,
            who="certificates of the authority `metrics`",
            taken=False,
        ),
        Port(
            number=BLACKBOX,
            program="prometheus-blackbox-exporter",
            what="probes of other nodes",
            duty="prometheus",
            at=At.LOOPBACK,
            who="all",
        ),
        Port(
            number=ALERTMANAGER,
            program="prometheus-alertmanager",
            what="alerts and silences",
            duty="alertmanager",
            peers=("prometheus", "alertmanager", Peer.OUTSIDE),
            tls=True,
            who="certificates of the authority `monitoring`",
            always=True,
        ),
        *(
            Port(
                number=GOSSIP,
                program="prometheus-alertmanager",
                what="Alertmanager's mesh",
                duty="alertmanager",
                protocol=protocol,
                peers=("alertmanager",),
                tls=True,
                who="certificates of the authority `monitoring`",
            )
            for protocol in ("tcp", "udp")
        ),
    ),
    programs=(
        Program("node_exporter", command=running("prometheus-node-exporter")),
        Program("prometheus", ("prometheus",), metrics=SERVER),
        Program("alertmanager", ("alertmanager",), metrics=ALERTMANAGER),
        Program("blackbox_exporter", ("prometheus",), metrics=BLACKBOX),
    ),
    leaves=leaves,
    certificates=("/etc/prometheus/tls/*.crt",),
    configurations=("/etc/alertmanager/*", "/etc/default/prometheus*", "/etc/prometheus/*.yml"),
    questions=(Probe("prometheus", ("prometheus",)),),
    upgrades=(
        Upgradable(
            name="prometheus",
            role="prometheus",
            duty="prometheus",
            rollback=True,
            interrupts=("metrics and alerts: the only Prometheus is restarted", 60.0),
        ),
        Upgradable(
            name="alertmanager",
            role="alertmanager",
            duty="alertmanager",
            rollback=True,
            interrupts=("notices of alerts: the only Alertmanager is restarted", 60.0),
        ),
    ),
    daemons=(
        Daemon(
            stage=Stage.WATCH,
            units=("prometheus.service", "prometheus-blackbox-exporter.service"),
            duties=("prometheus",),
        ),
        Daemon(stage=Stage.WATCH, units=("prometheus-alertmanager.service",), duties=("alertmanager",)),
    ),
)
