"""The shared file system: metadata servers, and its mount on clients."""

from __future__ import annotations

from avadm.components.model import Ceph, Component, Daemon, Packages, Phase, Probe, Stage

COMPONENT = Component(
    phase=Phase(
        "cephfs",
        "shared file system",
        "playbooks/cephfs.yml",
        ("ceph",),
        ("mds", "mon", "client"),
        ("ceph_common", "ceph_mds", "ceph_fs", "ceph_client"),
        makes="filesystem",
        apart=True,
    ),
    packages={name: Packages(base=("ceph_common", f"ceph_{name}")) for name in ("mds", "client")},
    ceph=Ceph(
        daemons=("mds",),
        nodes=frozenset({"mds", "mon", "client"}),
        kinds=("ceph", "mds", "client", "fuse"),
    ),
    questions=(Probe("mds", ("mds",)), Probe("cephfs", ("client",))),
    daemons=(
        Daemon(stage=Stage.CLIENTS, units=("avadm-cephfs.service",), duties=("client",)),
        Daemon(stage=Stage.METADATA, units=("ceph-mds@*.service",), duties=("mds",)),
    ),
)
