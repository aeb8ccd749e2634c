"""Dashboards."""

from __future__ import annotations

from avadm.components.model import Component, Daemon, Packages, Peer, Phase, Port, Program, Stage

GRAFANA = 3000

COMPONENT = Component(
    phase=Phase(
        "grafana", "dashboards", "playbooks/grafana.yml", ("monitoring",), ("grafana",), ("grafana",)
    ),
    packages={"grafana": Packages(base=("grafana",))},
    ports=(
        Port(
            number=GRAFANA,
            program="grafana",
            what="dashboards",
            duty="grafana",
            peers=(Peer.OUTSIDE,),
            who="users of grafana",
            always=True,
        ),
    ),
    programs=(Program("grafana", ("grafana",)),),
    daemons=(Daemon(stage=Stage.WATCH, units=("grafana-server.service",), duties=("grafana",)),),
)
