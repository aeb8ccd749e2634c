"""The image registry: one program for readers, one for the deployer."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import LOCAL, names
from avadm.components.model import (
    At,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Program,
    Stage,
)
from avadm.components.version_commands import running
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import registry_name

READERS, METRICS, WRITER, WRITER_METRICS, USERS, USERS_METRICS, SPACE = range(5000, 5007)
PUSHED = "registry-pushed"
"""Duty: users push images there."""
_PROGRAM = "docker-registry or registry"


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of the registry, of who writes and of each node that reads."""
    if not (site.with_role("master") and site.with_role("etcd")):
        return
    kubernetes = Authority.KUBERNETES
    for node in site.nodes:
        if "registry" in node.roles:
            yield Leaf(
                f"registry-{node.name}",
                kubernetes,
                f"registry-{node.name}",
                "registry",
                names=(registry_name(site), *names(node, site)),
                addresses=(str(node.address), *LOCAL[1]),
                server=True,
                client=False,
            )
            # Writers are identified by the authority alone: the registry looks at no name in a certificate.
            writer = f"registry-writer-{node.name}"
            yield Leaf(writer, Authority.IMAGE_WRITERS, writer, f"deployer:{node.name}")
        if {"master", "worker", "registry"} & set(node.roles):
            user = f"registry:{node.name}"
            yield Leaf(f"registry-client-{node.name}", Authority.IMAGES, f"node-{node.name}", user)


def pushed(site: Site) -> list[Node]:
    """Return the nodes to whose registry users push: those of a site that has the platform, which gives out tokens."""
    return site.with_role("registry") if site.components.ava else []


COMPONENT = Component(
    phase=Phase(
        "registry",
        "image registry",
        "playbooks/registry.yml",
        ("docker", "cephfs"),
        ("registry",),
        ("registry",),
        artifacts=("pause", "base-image", "avadm-node-registry"),
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
            number=USERS,
            program=_PROGRAM,
            what="image registry, users' own images",
            duty=PUSHED,
            # The platform's API, a pod, removes what users have it remove.
            peers=(Peer.OUTSIDE, Peer.PODS),
            tls=True,
            who="tokens of the platform's API",
            always=True,
        ),
        # The node's filter cannot tell one pod from another; users' pods are held off by their own network policies.
        Port(
            number=SPACE,
            program="python3",
            what="what users have in the image registry",
            duty=PUSHED,
            peers=(Peer.PODS,),
            tls=True,
            who="the certificate of the platform's API",
            always=True,
        ),
        Port(
            number=USERS_METRICS,
            program=_PROGRAM,
            what="its metrics and debug pages",
            duty=PUSHED,
            at=At.LOOPBACK,
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
        Program("avadm-registry-users", (PUSHED,), running("avadm-registry-users")),
    ),
    duties={PUSHED: pushed},
    leaves=leaves,
    certificates=("/etc/docker-registry/*.crt", "/etc/docker/certs.d/*/client.cert"),
    daemons=(
        Daemon(
            stage=Stage.JOBS,
            units=("avadm-registry-gc.timer", "avadm-registry-due.timer", "avadm-registry-room.timer"),
            duties=("registry",),
            ends=("avadm-registry-gc.service", "avadm-registry-due.service", "avadm-registry-room.service"),
        ),
        Daemon(
            stage=Stage.REGISTRY,
            units=(
                "avadm-registry.service",
                "avadm-registry-writer.service",
                "avadm-registry-users.service",
                "avadm-registry-space.service",
            ),
            duties=("registry",),
        ),
    ),
)
