"""Pools of block images."""

from __future__ import annotations

from avadm.components.model import Ceph, Component, Phase

COMPONENT = Component(
    phase=Phase(
        "rbd",
        "block volumes",
        "playbooks/rbd.yml",
        ("ceph",),
        ("mon", "client"),
        ("ceph_common", "ceph_rbd"),
        makes="rbd_pools",
        apart=True,
    ),
    ceph=Ceph(nodes=frozenset({"mon", "client"}), kinds=("ceph",)),
)
