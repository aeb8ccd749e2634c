"""The container engine."""

from __future__ import annotations

from avadm.components.model import Component, Packages, Phase, Program

NODES = ("master", "worker")

COMPONENT = Component(
    phase=Phase(
        "docker", "container engine", "playbooks/docker.yml", ("base",), NODES, ("docker",), apart=True
    ),
    packages={name: Packages(late=("docker",)) for name in NODES},
    programs=(Program("docker", NODES, ("docker", "version", "--format", "{{.Server.Version}}")),),
    certificates=("/etc/docker/certs.d/*/client.cert",),
    configurations=("/etc/docker/daemon.json",),
)
