"""Rules over volumes for pods: who keeps local ones, which pool has block images, which class is the default."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.findings import Finding
from avadm.site.draft import Draft

KNOBS = ("components", "kubernetes")


def local(draft: Draft) -> Iterator[Finding]:
    """Local volumes are on nodes that run pods and have what mounts volumes."""
    for i, node in draft.nodes("roles", "local_volumes_gib"):
        lacking = [role for role in ("client", "worker") if role not in node.roles]
        if node.local_volumes_gib and lacking:
            yield draft.finding(
                "local-volumes-alone",
                ("nodes", i, "local_volumes_gib"),
                ", ".join(node.roles) or "no role",
                "client and worker",
                host=node.name,
                name=node.name,
                names=" and ".join(lacking),
            )


def pool(draft: Draft) -> Iterator[Finding]:
    """The pool of block volumes is one of the site's."""
    path, pools = (*KNOBS, "rbd_pool"), draft.site.components.ceph.rbd_pools
    wanted = draft.site.components.kubernetes.rbd_pool
    if (
        draft.ok(*path)
        and draft.ok("components", "ceph")
        and wanted
        and wanted not in [p.name for p in pools]
    ):
        yield draft.finding(
            "rbd-pool-unknown",
            path,
            wanted,
            ", ".join(p.name for p in pools) or "a pool in components.ceph.rbd_pools",
        )


def default(draft: Draft) -> Iterator[Finding]:
    """The default class is one that the site has."""
    path, site = (*KNOBS, "default_class"), draft.site
    if not (draft.ok(*path) and draft.ok("components", "ceph") and draft.whole("local_volumes_gib")):
        return
    wanted = site.components.kubernetes.default_class
    ceph = site.components.ceph
    lacking = {
        "rbd": not ceph.rbd_pools and "components.ceph.rbd_pools",
        "local": not any(n.local_volumes_gib for n in site.nodes) and "local_volumes_gib of some node",
    }.get(wanted)
    if lacking:
        yield draft.finding("default-class-empty", path, wanted, lacking, storage_class=wanted)


RULES = [local, pool, default]
