"""What the cache suite measures at a site."""

from __future__ import annotations

from avadm.components.alluxio import placement as cache
from avadm.components.alluxio.options import S3Store
from avadm.components.alluxio.variables import reach
from avadm.site.load import SiteFile
from avadm.site.vault import Vault
from avadm_validation.measuring.targets import Bucket, CacheTarget, UnderStore


def cache_target(site_file: SiteFile) -> CacheTarget | None:
    """Return what is measured of a site's cache; None where it has none, or no client mounts it."""
    site = site_file.site
    knobs, fs = site.components.alluxio, site.components.ceph.filesystem
    if knobs is None or not knobs.fuse:
        return None
    writers = tuple(n.name for n in site.with_role("client"))
    stores = [
        UnderStore("cephfs", m.path, f"{fs.mount}{m.cephfs}", writers, m.read_only)
        if m.cephfs and fs
        else UnderStore("s3", m.path, read_only=m.read_only, bucket=_bucket(site_file, m.s3))
        for m in knobs.mounts
        # Others run an HDFS, and nothing is written to it.
        if not m.hdfs
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


def _bucket(site_file: SiteFile, s3: S3Store | None) -> Bucket | None:
    """Return a bucket of the site's own object store with its owner's keys; None for another's, or before there are keys."""
    if s3 is None or s3.endpoint or site_file.site.components.object_store is None:
        return None
    way, held = reach(s3, site_file.site), Vault.open(site_file.path).read()
    keys = held.get(way.access_key, ""), held.get(way.secret_key, "")
    return Bucket(s3.bucket, f"{s3.folder}/" if s3.folder else "", keys) if all(keys) else None
