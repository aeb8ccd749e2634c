"""Metrics and alerts: an exporter on every node, Prometheus twice, Alertmanager's mesh."""

from __future__ import annotations

from avadm.components.commands import running
from avadm.components.model import EVERYWHERE, At, Component, Packages, Peer, Phase, Port, Program, Question

NODE_EXPORTER, PROMETHEUS, ALERTMANAGER, GOSSIP, BLACKBOX = 9100, 9090, 9093, 9094, 9115

COMPONENT = Component(
    phase=Phase(
        "monitoring",
        "metrics and alerts",
        "playbooks/monitoring.yml",
        ("base",),
        (),
        ("node_exporter", "alertmanager", "prometheus", "blackbox_exporter"),
        ("grafana",),
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
            number=PROMETHEUS,
            program="prometheus",
            what="Prometheus",
            duty="prometheus",
            # People look at it; grafana asks it.
            peers=("prometheus", "grafana", Peer.OUTSIDE),
            tls=True,
            who="certificates of the authority `metrics`",
            always=True,
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
        Program("prometheus", ("prometheus",), metrics=PROMETHEUS),
        Program("alertmanager", ("alertmanager",), metrics=ALERTMANAGER),
        Program("blackbox_exporter", ("prometheus",), metrics=BLACKBOX),
    ),
    certificates=("/etc/prometheus/tls/*.crt",),
    configurations=("/etc/alertmanager/*", "/etc/default/prometheus*", "/etc/prometheus/*.yml"),
    questions=(Question("prometheus", ("prometheus",)),),
)
