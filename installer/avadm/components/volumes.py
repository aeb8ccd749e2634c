"""Volumes for pods."""

from __future__ import annotations

from avadm.components.model import Component, Phase

COMPONENT = Component(
    phase=Phase(
        "volumes",
        "volumes for pods",
        "playbooks/volumes.yml",
        ("addons", "cephfs", "rbd"),
        ("mon", "master", "client"),
        ("kube_volumes",),
        makes="filesystem",
        only_with="master",
    ),
)
