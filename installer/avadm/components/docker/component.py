"""The container engine."""

from __future__ import annotations

from avadm.components.model import Component, Packages, Phase, Program, Upgradable
from avadm.site.placement import kube_nodes

NODES = ("master", "worker")
ENGINE = "engine"
"""Duty: the node runs containers for Kubernetes."""

COMPONENT = Component(
    phase=Phase(
        "docker", "container engine", "playbooks/docker.yml", ("base",), NODES, ("docker",), apart=True
    ),
    duties={ENGINE: kube_nodes},
    packages={name: Packages(late=("docker",)) for name in NODES},
    programs=(Program("docker", NODES, ("docker", "version", "--format", "{{.Server.Version}}")),),
    certificates=("/etc/docker/certs.d/*/client.cert",),
    configurations=("/etc/docker/daemon.json",),
    upgrades=(
        # Containers live on while the daemon is restarted only between patch releases, so nodes are drained.
        Upgradable(
            name="docker",
            role="docker",
            duty=ENGINE,
            crosses=("docker",),
            rollback=True,
            interrupts=("pods of the node, which have no other one to move to", 300.0),
            together=("pods of each node in turn, stopped and started elsewhere", 60.0),
        ),
    ),
)
