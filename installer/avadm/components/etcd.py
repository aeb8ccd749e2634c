"""Kubernetes' data base."""

from __future__ import annotations

from avadm.components.model import At, Component, Packages, Phase, Port, Program, Question

CLIENTS, MEMBERS, METRICS = 2379, 2380, 2381
_CLIENT = (
    *("--cacert", "/etc/etcd/pki/ca.crt"),
    *("--cert", "/etc/etcd/pki/client.crt"),
    *("--key", "/etc/etcd/pki/etcd.key"),
)

COMPONENT = Component(
    phase=Phase("etcd", "Kubernetes' data base", "playbooks/etcd.yml", ("base",), ("etcd",), ("etcd",)),
    packages={"etcd": Packages(late=("etcd",))},
    ports=(
        Port(
            number=CLIENTS,
            program="etcd",
            what="clients (metrics too)",
            duty="etcd",
            # API servers; every node's Calico; Prometheus.
            peers=("master", "worker", "prometheus", "etcd"),
            tls=True,
            who="certificates of etcd's authority",
            always=True,
        ),
        Port(
            number=MEMBERS,
            program="etcd",
            what="members",
            duty="etcd",
            peers=("etcd",),
            tls=True,
            who="certificates of the authority of members",
            always=True,
        ),
        Port(number=METRICS, program="etcd", what="etcd's metrics", duty="etcd", at=At.LOOPBACK, taken=False),
    ),
    programs=(
        Program("etcd", ("etcd",), ("curl", "--silent", *_CLIENT, f"https://127.0.0.1:{CLIENTS}/version")),
    ),
    certificates=("/etc/etcd/pki/*.crt",),
    configurations=("/etc/default/etcd", "/etc/etcd/*"),
    questions=(Question("etcd", ("etcd",)), Question("etcd_peers", ("etcd",))),
)
