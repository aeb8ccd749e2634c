"""Rules over the storage cluster's knobs."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.findings import Finding
from avadm.site.model import Ceph
from avadm.site.rules.draft import CEPH_ROLES, Draft
from avadm.site.source import KeyPath

CEPH: KeyPath = ("components", "ceph")
_SYSTEM = (
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",  # noqa: S108  a name to refuse
    "/usr",
    "/var",
    "/mnt",
)


def replicas(draft: Draft) -> Iterator[Finding]:
    """There are as many places as copies, and the copies needed to serve are fewer than all."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    if draft.whole("roles", "rack", "name") and (osds := draft.site.with_role("osd")):
        domains = {n.rack if ceph.failure_domain == "rack" else n.name for n in osds}
        if len(domains) < ceph.replicas:
            yield draft.error(
                "replicas-too-many",
                (*CEPH, "replicas"),
                f"There are fewer {ceph.failure_domain}s with OSDs than copies.",
                f"{ceph.replicas} replicas, {len(domains)}: {', '.join(sorted(domains))}",
                f"at least {ceph.replicas} {ceph.failure_domain}s with the role osd",
                "Add OSD nodes, lower replicas, or set failure_domain: host.",
            )
    low, all_ = ceph.min_replicas, ceph.replicas
    path = (*CEPH, "min_replicas")
    if low > all_:
        yield draft.error(
            "min-replicas",
            path,
            "More copies are needed to serve than are ever made.",
            f"{low} of {all_}",
            f"1 to {all_ - 1}",
            f"Set min_replicas to {all_ - 1}.",
        )
    elif low == all_:
        yield draft.warning(
            "min-replicas",
            path,
            "Every lost OSD stops I/O, since all copies are needed to serve.",
            f"{low} of {all_}",
            f"{all_ - 1} of {all_}",
            f"Set min_replicas to {all_ - 1} where service goes first.",
        )
    elif low == 1:
        yield draft.warning(
            "min-replicas",
            path,
            "With one copy left, writes go on: if that disk fails too, they are lost.",
            f"{low} of {all_}",
            "2 of 3",
            "Use 3 replicas and min_replicas 2 where data goes before space.",
        )


def shares(draft: Draft) -> Iterator[Finding]:
    """The pools' shares are parts of one whole."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    total = sum(p.share for p in ceph.rbd_pools) + (ceph.filesystem.share if ceph.filesystem else 0)
    if total > 1 + 1e-9:
        yield draft.error(
            "shares-sum",
            CEPH,
            "The shares of file system and pools come to more than the whole.",
            f"{total:g}",
            "at most 1 together",
            "Lower filesystem.share or a pool's share.",
        )


def pools(draft: Draft) -> Iterator[Finding]:
    """No two pools have one name; the file system's own pools count."""
    ceph = _ceph(draft)
    if ceph is None:
        return
    yield from draft.twice(
        "duplicate-pool",
        "The pool name",
        (((*CEPH, "rbd_pools", i), p.name, None) for i, p in enumerate(ceph.rbd_pools)),
    )
    own = {f"{ceph.filesystem.name}_{kind}" for kind in ("data", "metadata")} if ceph.filesystem else set()
    for i, pool in enumerate(ceph.rbd_pools):
        if pool.name in own:
            yield draft.error(
                "duplicate-pool",
                (*CEPH, "rbd_pools", i),
                "The file system has a pool of this name.",
                pool.name,
                f"a name other than {' and '.join(sorted(own))}",
                "Rename the pool.",
            )


def mount(draft: Draft) -> Iterator[Finding]:
    """The mount point hides nothing of the system."""
    ceph = _ceph(draft)
    if ceph is None or ceph.filesystem is None:
        return
    point = ceph.filesystem.mount.rstrip("/") or "/"
    if point in _SYSTEM or ".." in point.split("/") or any(c.isspace() for c in point):
        yield draft.error(
            "mount-point",
            (*CEPH, "filesystem", "mount"),
            "The file system cannot be mounted there.",
            point,
            "a path of its own, such as /mnt/cephfs",
            "Choose another mount point.",
        )


def _ceph(draft: Draft) -> Ceph | None:
    """Return the knobs where they are right and matter: a node has a role of ceph, or someone wrote them."""
    used = draft.has(*CEPH_ROLES) or draft.written(CEPH)
    return draft.site.components.ceph if used and draft.ok(*CEPH) else None


RULES = [replicas, shares, pools, mount]
