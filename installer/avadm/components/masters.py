"""Kubernetes' control plane."""

from __future__ import annotations

from avadm.components.commands import build_info, running
from avadm.components.model import At, Component, Packages, Peer, Phase, Port, Program, Question
from avadm.site.model import Site

API, ADMISSION = 6443, 10261
SCHEDULER, CONTROLLERS = 10251, 10252


def _holds(site: Site) -> tuple[str, str] | None:
    return (
        (str(site.network.api_vip), "master") if site.network.api_vip and site.with_role("master") else None
    )


COMPONENT = Component(
    phase=Phase(
        "masters",
        "Kubernetes' control plane",
        "playbooks/masters.yml",
        ("etcd",),
        ("master",),
        ("kube_common", "kube_admission", "kube_apiserver", "kube_vip", "kube_controllers"),
        artifacts=("kubernetes", "admission"),
    ),
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
    ),
    certificates=(
        "/etc/haproxy/*.crt",
        "/etc/haproxy/*.pem",
        "/etc/kubernetes/pki/*.crt",
        "/root/.kube/config",
    ),
    configurations=("/etc/haproxy/*.cfg", "/etc/keepalived/*", "/etc/kubernetes/*"),
    questions=(
        Question("servers", ("master",)),
        Question("haproxy", ("master",)),
        Question("kubernetes", ("master",), witnesses=2),
        Question("admission", ("master",), witnesses=2),
    ),
    holds=_holds,
)
