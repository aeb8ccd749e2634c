"""What the cache suite measures at a site."""

from __future__ import annotations

from avadm.site import cache
from avadm.site.model import Site
from avadm_validation.suites.alluxio.target import CacheTarget, Store


def cache_target(site: Site) -> CacheTarget | None:
    """Return what is measured of a site's cache; None where it has none, or no client mounts it."""
    knobs, fs = site.components.alluxio, site.components.ceph.filesystem
    if knobs is None or not knobs.fuse:
        return None
    writers = tuple(n.name for n in site.with_role("client"))
    stores = [
        Store("cephfs", m.path, f"{fs.mount}{m.cephfs}", writers, m.read_only)
        if m.cephfs and fs
        else Store("s3", m.path, read_only=m.read_only)
        for m in knobs.mounts
    ]
    return CacheTarget(
        masters=tuple(n.name for n in site.with_role("alluxio_master")),
        workers=tuple(n.name for n in site.with_role("alluxio_worker")),
        clients=tuple(n.name for n in cache.clients(site)),
        mount=knobs.mount_point,
        addresses={n.name: str(n.address) for n in site.nodes},
        stores=tuple(stores),
        sync_s=float(knobs.sync_interval_s),
        master_port=cache.MASTER_WEB_PORT,
        worker_port=cache.WORKER_WEB_PORT,
    )
