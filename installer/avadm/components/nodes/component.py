"""Kubernetes' nodes and the network of pods."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificate_names import names
from avadm.components.etcd.component import ETCD_CALICO
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
    Upgradable,
)
from avadm.components.version_commands import build_info, running
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import kube_nodes

NODES = ("master", "worker")
KUBELET, PROXY = 10250, 10249
_CALICO = "docker ps --filter=name='^/calico-node$' --format='{{.Image}}' | sed 's/.*://'"


def _on_nodes() -> tuple[Port, ...]:
    """Return the ports of kubelet, kube-proxy and Calico, on masters and workers."""
    return tuple(
        port
        for duty in NODES
        for port in (
            Port(
                number=KUBELET,
                program="hyperkube",
                what="kubelet",
                duty=duty,
                peers=("master", "prometheus"),
                tls=True,
                who="certificates and tokens that RBAC lets",
            ),
            Port(number=10248, program="hyperkube", what="kubelet's health", duty=duty, at=At.LOOPBACK),
            Port(number=PROXY, program="hyperkube", what="kube-proxy's metrics", duty=duty, at=At.LOOPBACK),
            Port(
                number=10256,
                program="hyperkube",
                what="kube-proxy's health",
                duty=duty,
                peers=("prometheus",),
                who="all",
            ),
            Port(
                number=179,
                program="bird",
                what="BGP",
                duty=duty,
                peers=(*NODES, Peer.SWITCHES),
                who="all connect; sessions only with known nodes",
            ),
            Port(
                number=9091,
                program="calico-node",
                what="felix' metrics",
                duty=duty,
                peers=("prometheus",),
                who="all",
            ),
            Port(number=9099, program="calico-node", what="felix' health", duty=duty, at=At.LOOPBACK),
            *(
                Port(
                    number=30000,
                    last=32767,
                    program="hyperkube",
                    what="Services of the type NodePort",
                    duty=duty,
                    protocol=protocol,
                    peers=(Peer.ALL,),
                    who="all",
                    taken=False,
                )
                for protocol in ("tcp", "udp")
            ),
        )
    )


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of kubelets, kube-proxy and Calico."""
    if site.with_role("master") and site.with_role("etcd"):
        for node in kube_nodes(site):
            yield from _of_node(node, site)


def _of_node(node: Node, site: Site) -> Iterator[Leaf]:
    owner = f"node-{node.name}"
    user = f"system:node:{node.name}"
    yield Leaf(f"kubelet-client-{node.name}", Authority.KUBERNETES, owner, user, "system:nodes")
    yield Leaf(
        f"kubelet-server-{node.name}",
        Authority.KUBERNETES,
        owner,
        user,
        names=names(node, site),
        addresses=(str(node.address),),
        server=True,
        client=False,
    )
    yield Leaf(f"kube-proxy-{node.name}", Authority.KUBERNETES, owner, "system:kube-proxy")
    yield Leaf(f"calico-{node.name}", Authority.KUBERNETES, owner, "calico")
    yield Leaf(f"calico-etcd-{node.name}", Authority.ETCD, owner, ETCD_CALICO)


COMPONENT = Component(
    phase=Phase(
        "nodes",
        "Kubernetes' nodes and the network of pods",
        "playbooks/nodes.yml",
        ("masters", "docker", "gpu"),
        NODES,
        ("kube_common", "kube_node", "calico", "gpu_device_plugin"),
        artifacts=("kubernetes", "cni-plugins", "pause", "calico", "calico-image", "gpu-device-plugin"),
        apart=True,
    ),
    packages={name: Packages(base=("kube_node", "calico")) for name in NODES},
    ports=(
        *_on_nodes(),
        Port(
            number=9094,
            program="calico-kube-controllers",
            what="metrics of Calico's controllers",
            duty="master",
            peers=("prometheus",),
            who="all",
        ),
    ),
    programs=(
        Program("kubelet", NODES, running("kubelet", "kubelet --version")),
        Program("kube-proxy", NODES, build_info(PROXY)),
        Program("calico-node", NODES, ("sh", "-c", _CALICO)),
        Program("calico-kube-controllers", ("master",), running("calico-kube-controllers")),
        Program("gpu-device-plugin", ("gpu",), running("avadm-gpu-device-plugin")),
    ),
    # With steps of its own: operations/upgrade_calico.py. Its programs are artifacts, which the profile chooses.
    upgrades=(
        Upgradable(
            name="calico",
            role="calico",
            duty="master",
            with_programs=("calico-node", "calico-kube-controllers"),
        ),
    ),
    leaves=leaves,
    certificates=("/etc/calico/pki/*.crt", "/etc/kubernetes/pki/*.crt"),
    configurations=("/etc/calico/*", "/etc/cni/net.d/*", "/etc/kubernetes/*"),
    questions=(
        Probe("calico_pool", ("master",), witnesses=2),
        Probe("calico", NODES),
        Probe("cni", NODES),
        Probe("containers", NODES),
        Probe("defences", NODES),
    ),
    daemons=(
        Daemon(
            stage=Stage.KUBELETS,
            units=("kubelet.service", "avadm-gpu-device-plugin.service"),
            duties=NODES,
        ),
        Daemon(stage=Stage.CONTROL, units=("calico-kube-controllers.service",), duties=("master",)),
        Daemon(stage=Stage.CONTROL, units=("kube-proxy.service",), duties=NODES),
        # With etcd alone: it does not start without.
        Daemon(stage=Stage.NETWORK, units=("calico-node.service",), duties=NODES),
    ),
)
