"""Kubernetes' control plane."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from avadm.components.certificate_names import LOCAL, names
from avadm.components.etcd.component import ETCD_ROOT
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
    Virtual,
)
from avadm.components.version_commands import build_info, running
from avadm.pki.model import ADMIN, PROMETHEUS, Authority, Leaf
from avadm.site.model import Node, Site
from avadm.site.placement import CLUSTER_DOMAIN

API, ADMISSION = 6443, 10261
SCHEDULER, CONTROLLERS = 10251, 10252
BALANCER = "balancer"
"""Duty: haproxy answers at a virtual address, the API's or the gateways'."""


def balanced(site: Site) -> list[tuple[str, IPv4Address, list[Node]]]:
    """Return the rows of nodes whose haproxy shares a virtual address: name of the health program, the address, the nodes."""
    store = site.components.object_store
    rows = [
        ("api", site.network.api_vip, site.with_role("master")),
        ("objects", store.vip if store else None, site.with_role("rgw")),
    ]
    return [(program, address, nodes) for program, address, nodes in rows if address and nodes]


def _balancers(site: Site) -> list[Node]:
    names = {node.name for _, _, nodes in balanced(site) for node in nodes}
    return [node for node in site.nodes if node.name in names]


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of the masters, the administrator, Prometheus and the site's accounts."""
    if not (site.with_role("master") and site.with_role("etcd")):
        return
    for node in site.with_role("master"):
        yield from _of_node(node, site)
    yield Leaf("admin", Authority.KUBERNETES, ADMIN, "kubernetes-admin", "system:masters")
    yield Leaf("prometheus", Authority.KUBERNETES, PROMETHEUS, "prometheus")
    yield from accounts(site)


def accounts(site: Site) -> list[Leaf]:
    """Return the certificates of the site's accounts."""
    return [
        Leaf(f"account-{a.name}", Authority.KUBERNETES, f"account-{a.name}", a.name, f"avadm:{a.role}")
        for a in site.components.kubernetes.accounts
    ]


def _of_node(node: Node, site: Site) -> Iterator[Leaf]:
    owner = f"master-{node.name}"
    kubernetes = Authority.KUBERNETES
    virtual = [str(site.network.api_vip)] if site.network.api_vip else []
    yield Leaf(
        f"apiserver-{node.name}",
        kubernetes,
        owner,
        "kube-apiserver",
        names=(
            *("kubernetes", "kubernetes.default", "kubernetes.default.svc"),
            f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
            f"kubernetes.{site.network.domain}",
            *names(node, site),
            *LOCAL[0],
        ),
        # The service `kubernetes` has the first address of the services' network.
        addresses=(*virtual, str(site.network.services[1]), str(node.address), *LOCAL[1]),
        server=True,
        client=False,
    )
    yield Leaf(f"apiserver-etcd-{node.name}", Authority.ETCD, owner, ETCD_ROOT)
    # The group is needed: 1.9 has no binding for an API server that speaks to kubelets.
    yield Leaf(f"apiserver-kubelet-{node.name}", kubernetes, owner, "kube-apiserver", "system:masters")
    yield Leaf(f"front-proxy-{node.name}", Authority.FRONT_PROXY, owner, "front-proxy-client")
    for name in ("controller-manager", "scheduler"):
        yield Leaf(f"{name}-{node.name}", kubernetes, owner, f"system:kube-{name}")
    yield Leaf(f"health-{node.name}", kubernetes, f"health-{node.name}", "avadm:health")
    # Asked by the API server of its own node alone, which it asks in turn what a volume is that is to be removed.
    yield Leaf(
        f"admission-{node.name}",
        kubernetes,
        f"admission-{node.name}",
        "avadm:admission",
        names=LOCAL[0],
        addresses=LOCAL[1],
        server=True,
    )
    yield Leaf(f"calico-controllers-{node.name}", kubernetes, owner, "calico-kube-controllers")
    # haproxy's, as the one before last: it shows the metrics of what listens on 127.0.0.1 alone.
    yield Leaf(
        f"kube-metrics-{node.name}",
        kubernetes,
        f"health-{node.name}",
        "kube-metrics",
        names=names(node, site),
        addresses=(str(node.address),),
        server=True,
        client=False,
    )


COMPONENT = Component(
    phase=Phase(
        "masters",
        "Kubernetes' control plane",
        "playbooks/masters.yml",
        ("etcd",),
        ("master",),
        ("kube_common", "kube_admission", "kube_apiserver", "kube_vip", "kube_controllers"),
        ("vip",),
        artifacts=("kubernetes", "admission"),
    ),
    duties={BALANCER: _balancers},
    packages={"master": Packages(base=("kube_vip", "kube_apiserver", "kube_controllers"))},
    ports=(
        Port(
            number=API,
            # The API at the node's own address, haproxy at the virtual one.
            program="hyperkube or haproxy",
            what="API",
            duty="master",
            at=At.BOTH,
            peers=(Peer.ALL,),
            tls=True,
            who="certificates, tokens",
            always=True,
        ),
        *(
            Port(
                number=number,
                program="haproxy",
                what=f"metrics of {what}",
                duty="master",
                peers=("prometheus",),
                tls=True,
                who="the certificate of Prometheus",
            )
            for number, what in ((10257, "controller-manager"), (10259, "scheduler"))
        ),
        *(
            Port(
                number=number,
                program="hyperkube",
                what=f"{what}'s health and metrics",
                duty="master",
                at=At.LOOPBACK,
            )
            for number, what in ((SCHEDULER, "scheduler"), (CONTROLLERS, "controller-manager"))
        ),
        Port(
            number=ADMISSION,
            program="avadm-admission",
            what="admission",
            duty="master",
            at=At.LOOPBACK,
            tls=True,
            always=True,
        ),
    ),
    programs=(
        Program(
            "kube-apiserver",
            ("master",),
            ("kubectl", "--kubeconfig=/root/.kube/config", "get", "--raw=/version"),
        ),
        Program("kube-controller-manager", ("master",), build_info(CONTROLLERS)),
        Program("kube-scheduler", ("master",), build_info(SCHEDULER)),
        Program("avadm-admission", ("master",), running("avadm-admission", "-version")),
        Program("haproxy", (BALANCER,), running("haproxy", "-v")),
    ),
    leaves=leaves,
    certificates=(
        "/etc/haproxy/*.crt",
        "/etc/haproxy/*.pem",
        "/etc/kubernetes/pki/*.crt",
        "/root/.kube/config",
    ),
    configurations=(
        "/etc/haproxy/*.cfg",
        "/etc/keepalived/*.conf",
        "/etc/keepalived/conf.d/*",
        "/etc/kubernetes/*",
    ),
    questions=(
        Probe("servers", ("master",)),
        Probe("haproxy", ("master",)),
        Probe("kubernetes", ("master",), witnesses=2),
        Probe("admission", ("master",), witnesses=2),
    ),
    virtual=Virtual("master", ("network", "api_vip")),
    upgrades=(
        # A gateway's node has its haproxy of the phase `objects`.
        Upgradable(
            name="haproxy",
            role="kube_vip",
            duty=BALANCER,
            with_roles=("objects_vip",),
            packages={"haproxy": ("haproxy",)},
            with_phases=("objects",),
            rollback=True,
            interrupts=("the virtual address: its only haproxy is restarted", 10.0),
            together=("the virtual address: it moves to another node, and connections through it end", 5.0),
        ),
        # With steps of its own: operations/upgrade_kubernetes.py. Its programs are one artifact, which the profile chooses.
        Upgradable(
            name="kubernetes",
            role="kube_common",
            duty="master",
            with_programs=(
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubelet",
                "kube-proxy",
            ),
            adjacent=True,
        ),
    ),
    daemons=(
        Daemon(
            stage=Stage.CONTROL,
            units=(
                "kube-scheduler.service",
                "kube-controller-manager.service",
                "avadm-kube-metrics.service",
                "kube-apiserver.service",
                "avadm-admission.service",
            ),
            duties=("master",),
        ),
    ),
)
