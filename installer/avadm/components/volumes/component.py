"""Volumes for pods."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.model import Component, Daemon, Phase, Stage
from avadm.pki.model import Authority, Leaf
from avadm.site.model import Site
from avadm.site.placement import provisioners, volume_makers


def leaves(site: Site) -> Iterator[Leaf]:
    """Yield the certificates of what makes volumes: two users, since they may different things.

    One makes volumes of the whole site, the other those of one node.
    """
    if not (site.with_role("master") and site.with_role("etcd")):
        return
    own = {n.name for n in provisioners(site)}
    for node in volume_makers(site):
        owner = f"volumes-{node.name}"
        for kind, group, has in (
            ("volumes", "avadm:volumes", bool(node.local_volumes_gib)),
            ("provisioner", "avadm:provisioners", node.name in own),
        ):
            if has:
                name, user = f"{kind}-{node.name}", f"avadm:{kind}:{node.name}"
                yield Leaf(name, Authority.KUBERNETES, owner, user, group)


COMPONENT = Component(
    phase=Phase(
        "volumes",
        "volumes for pods",
        "playbooks/volumes.yml",
        ("addons", "cephfs", "rbd"),
        ("mon", "master", "client"),
        ("kube_volumes",),
        artifacts=("avadm-node-volumes",),
        makes="filesystem",
        only_with="master",
        apart=True,
    ),
    leaves=leaves,
    daemons=(
        Daemon(
            stage=Stage.KUBELETS,
            units=("avadm-volumes.service", "avadm-volumes-local.service", "avadm-volumes-node.service"),
            duties=("master", "worker", "client"),
        ),
    ),
)
