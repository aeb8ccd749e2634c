"""The image registry: one program for readers, one for the deployer."""

from __future__ import annotations

from avadm.components.commands import running
from avadm.components.model import At, Component, Packages, Peer, Phase, Port, Program

READERS, METRICS, WRITER, WRITER_METRICS = 5000, 5001, 5002, 5003
_PROGRAM = "docker-registry or registry"

COMPONENT = Component(
    phase=Phase(
        "registry",
        "image registry",
        "playbooks/registry.yml",
        ("docker", "cephfs"),
        ("registry",),
        ("registry",),
        artifacts=("pause", "base-image"),
    ),
    packages={"registry": Packages(late=("registry",))},
    ports=(
        Port(
            number=READERS,
            program=_PROGRAM,
            what="image registry, reading",
            duty="registry",
            peers=(Peer.NODES, Peer.PODS),
            tls=True,
            who="certificates of nodes' engines",
            always=True,
        ),
        Port(
            number=METRICS,
            program=_PROGRAM,
            what="its metrics and debug pages",
            duty="registry",
            peers=("prometheus",),
            who="all",
        ),
        Port(
            number=WRITER,
            program=_PROGRAM,
            what="image registry, writing",
            duty="registry",
            at=At.LOOPBACK,
            tls=True,
            who="certificates of the deployer",
            always=True,
        ),
        Port(
            number=WRITER_METRICS,
            program=_PROGRAM,
            what="the writer's metrics",
            duty="registry",
            at=At.LOOPBACK,
        ),
    ),
    programs=(
        Program("avadm-registry", ("registry",), running("avadm-registry")),
        Program("avadm-registry-writer", ("registry",), running("avadm-registry-writer")),
    ),
    certificates=("/etc/docker-registry/*.crt", "/etc/docker/certs.d/*/client.cert"),
)
