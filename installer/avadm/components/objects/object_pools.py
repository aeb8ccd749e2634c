"""What the object store asks of ceph: pools, placement shares, configuration, and what its gateways may do.

Pure functions of the site, apart from render/objects.py, so that render/ceph.py can use them.
"""

from __future__ import annotations

from avadm.components.objects.options import DatabaseCopies, EtcdCopies
from avadm.site.model import Node, Site

DATA, INDEX = "default.rgw.buckets.data", "default.rgw.buckets.index"
# radosgw makes pools that are missing by itself, with the cluster's defaults; all of the zone `default` are made before,
# so that they have the site's rule and its gateways need not be able to make any (doc/radosgw/pools.rst).
SHARES = {
    ".rgw.root": 0.005,
    "default.rgw.control": 0.005,
    "default.rgw.meta": 0.005,
    "default.rgw.log": 0.005,
    INDEX: 0.05,
    "default.rgw.buckets.non-ec": 0.005,
    DATA: 0.925,
}
"""Pool to its part of the object store's share."""
ETCD_COPIES = "avadm-etcd"
"""User, and its one bucket, that etcd's snapshots are copied to."""
DATABASE_BACKUPS = "avadm-database"
"""User, and its one bucket, that PostgreSQL's backups are in."""
CERTIFICATE, KEY, AUTHORITY = (f"/etc/avadm/objects/{n}" for n in ("server.crt", "server.key", "ca.crt"))
Options = dict[str, str | int | float | bool]


def gateways(site: Site) -> list[Node]:
    """Return the nodes that run the site's own gateways; none with an external store, or without any."""
    store = site.components.object_store
    return site.with_role("rgw") if store is not None and store.provider == "ceph-rgw" else []


def own_copies(site: Site) -> bool:
    """Tell whether etcd's snapshots are copied into the site's own object store."""
    return bool(gateways(site) and site.with_role("etcd"))


def external_copies(site: Site) -> EtcdCopies | None:
    """Return where they are copied to in a store that others run."""
    store = site.components.object_store
    if store is None or store.provider != "external" or store.external is None:
        return None
    return store.external.etcd_copies if site.with_role("etcd") else None


def etcd_copies(site: Site) -> bool:
    """Tell whether etcd's snapshots are copied into an object store."""
    return own_copies(site) or external_copies(site) is not None


def own_backups(site: Site) -> bool:
    """Tell whether PostgreSQL's backups are in the site's own object store."""
    knobs = site.components.database
    wanted = knobs is not None and knobs.backup is not None and not knobs.backup.directory
    return bool(wanted and gateways(site) and site.with_role("database"))


def external_backups(site: Site) -> DatabaseCopies | None:
    """Return where they are in a store that others run."""
    store, knobs = site.components.object_store, site.components.database
    if store is None or store.external is None or store.provider != "external":
        return None
    if knobs is None or knobs.backup is None or knobs.backup.directory:
        return None
    return store.external.database_backups if site.with_role("database") else None


def database_backups(site: Site) -> bool:
    """Tell whether PostgreSQL's backups have a place: a folder, or an object store."""
    knobs = site.components.database
    folder = knobs is not None and knobs.backup is not None and bool(knobs.backup.directory)
    return folder or own_backups(site) or external_backups(site) is not None


def name(site: Site) -> str:
    """Return the DNS name of the site's own object store."""
    store = site.components.object_store
    return (store.name if store else None) or f"objects.{site.network.domain}"


def shares(site: Site) -> dict[str, float]:
    """Return pool to its share of the cluster's data."""
    store = site.components.object_store
    if store is None or not gateways(site):
        return {}
    return {pool: part * store.share for pool, part in SHARES.items()}


def entity(node: Node) -> str:
    """Return the cephx identity of a node's gateway."""
    return f"client.rgw.{node.name}"


def caps() -> dict[str, str]:
    """Return what a gateway may do: read the maps, and use its own pools and no other."""
    return {"mon": "allow r", "osd": ", ".join(f"allow rwx pool={pool}" for pool in SHARES)}


def sections(site: Site) -> dict[str, Options]:
    """Return the sections of ceph.conf for the gateways."""
    store = site.components.object_store
    if store is None:
        return {}
    return {
        entity(node): {
            # TLS alone: there is no port for plain HTTP that could be found open.
            "rgw_frontends": f"beast ssl_endpoint={node.address}:{store.port} ssl_certificate={CERTIFICATE} "
            f"ssl_private_key={KEY}",
            "rgw_dns_name": name(site),
            # No Swift, and no administration over the network.
            "rgw_enable_apis": "s3",
            # Each gateway counts what passes through itself; after so many seconds it knows of the others (default 180).
            "rgw_user_quota_bucket_sync_interval": 60,
        }
        for node in gateways(site)
    }
