"""Rules over the cache (Alluxio): who runs what of it, its tiers in order, its under stores reachable."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.alluxio import placement as cache
from avadm.components.alluxio.options import CacheMount, HdfsStore, S3Store
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.rules.roles import absent
from avadm.site.source import KeyPath

PATH = ("components", "alluxio")
SERVERS = ("alluxio_master", "alluxio_worker")
KINDS = ("MEM", "SSD", "HDD")
OURS = (
    *(
        "dfs.nameservices",
        "dfs.ha.namenodes",
        "dfs.namenode.rpc-address",
        "dfs.client.failover.proxy.provider",
    ),
    *("hadoop.security.", "dfs.namenode.kerberos.", "fs.defaultFS"),
)
"""How names of properties begin that a site file cannot set."""


def complete(draft: Draft) -> Iterator[Finding]:
    """A cache has masters and workers, and who runs it is part of a site that has one."""
    if not (draft.whole("roles") and draft.ok(*PATH)):
        return
    roles = (*SERVERS, "alluxio_client")
    if draft.site.components.alluxio is None:
        for role in roles:
            if draft.has(role):
                yield draft.error(
                    "role-unused",
                    ("nodes",),
                    f"There is the role {role} but no cache.",
                    ", ".join(n.name for n in draft.site.with_role(role)),
                    "components.alluxio, or no such role",
                    f"Describe the cache in components.alluxio, or remove the role {role}.",
                )
        return
    needs = {"alluxio_master": "knows what is cached where", "alluxio_worker": "keeps what is cached"}
    yield from absent(draft, needs, {"alluxio_master": "1 or 3"})
    masters = draft.site.with_role("alluxio_master")
    if masters and len(masters) not in cache.ELECTED:
        yield draft.error(
            "quorum-even",
            ("nodes",),
            "This many masters of the cache survive no more losses than 1 or 3.",
            f"{len(masters)}: {', '.join(n.name for n in masters)}",
            "1 or 3 alluxio_master",
            "Add or remove some.",
        )
    elif len(masters) == 1:
        yield draft.warning(
            "no-standby",
            ("nodes",),
            "The one master of the cache has no standby: while it is down nothing is read through the cache.",
            "1 alluxio_master",
            "3 alluxio_master",
            "Give the role alluxio_master to two more nodes.",
        )


def tiers(draft: Draft) -> Iterator[Finding]:
    """Tiers go from fast to slow, each kind once, each in a folder of its own."""
    knobs = draft.site.components.alluxio
    if knobs is None or not draft.ok(*PATH):
        return
    kinds = [t.kind for t in knobs.tiers]
    if not kinds or kinds != [k for k in KINDS if k in kinds]:
        yield draft.error(
            "tier-order",
            (*PATH, "tiers"),
            "The cache's tiers are not one of each kind from the fastest to the slowest.",
            ", ".join(kinds) or "none",
            "some of MEM, SSD, HDD in this order, each once",
            "Put them in this order.",
        )
    for i, tier in enumerate(knobs.tiers):
        for other in knobs.tiers[:i]:
            if _within(tier.path, other.path) or _within(other.path, tier.path):
                yield draft.error(
                    "tier-shared",
                    (*PATH, "tiers", i, "path"),
                    "One tier of the cache lies inside of another.",
                    f"{tier.path}, {other.path}",
                    "folders apart from one another",
                    "Choose another folder.",
                )


def mounts(draft: Draft) -> Iterator[Finding]:
    """Each under store is one thing, at a place of its own, and reachable from the servers."""
    knobs = draft.site.components.alluxio
    if knobs is None or not draft.ok(*PATH):
        return
    seen = [((*PATH, "mounts", i, "path"), m.path, None) for i, m in enumerate(knobs.mounts)]
    yield from draft.twice("mount-twice", "The folder of the cache", seen)
    for i, mount in enumerate(knobs.mounts):
        kinds = [kind for kind in ("cephfs", "s3", "hdfs") if getattr(mount, kind) is not None]
        if len(kinds) != 1:
            yield draft.error(
                "mount-kind",
                (*PATH, "mounts", i),
                "An under store is a folder of cephfs, a bucket or a folder of an HDFS, one of these.",
                " and ".join(kinds) or "none of them",
                "cephfs, s3 or hdfs",
                "Write one of `cephfs: /FOLDER`, `s3: {bucket, endpoint, secret}` and `hdfs: {namenodes, folder}`.",
            )
        yield from _bucket(draft, (*PATH, "mounts", i, "s3"), mount.s3)
        yield from _hdfs(draft, (*PATH, "mounts", i), mount, mount.hdfs)
    yield from _cephfs(draft)


def _bucket(draft: Draft, path: KeyPath, s3: S3Store | None) -> Iterator[Finding]:
    """Return what is wrong with a bucket: it is of another store, with endpoint and secret, or one of the site's own."""
    if s3 is None:
        return
    if (s3.endpoint is None) != (s3.secret is None) or (s3.endpoint is None and s3.ca_file):
        given = ", ".join(k for k in ("endpoint", "secret", "ca_file") if getattr(s3, k))
        yield draft.error(
            "mount-store",
            path,
            "A bucket is of the site's own object store, or of another one, whose endpoint and secret are named.",
            given,
            "endpoint and secret, or none of endpoint, secret and ca_file",
            "Write both, or neither.",
        )
    elif s3.endpoint is None and draft.ok("components", "object_store"):
        store = draft.site.components.object_store
        names = [b.name for b in store.buckets] if store else []
        if s3.bucket not in names:
            yield draft.error(
                "mount-without-bucket",
                (*path, "bucket"),
                "An under store is a bucket that the site's own object store has not.",
                s3.bucket,
                f"one of {', '.join(names)}" if names else "components.object_store with this bucket",
                "Add the bucket to components.object_store.buckets, or name endpoint and secret of another store.",
            )


def _hdfs(draft: Draft, path: KeyPath, mount: CacheMount, hdfs: HdfsStore | None) -> Iterator[Finding]:
    """Return what is wrong with a folder of an HDFS: it is read with a name alone, and never written."""
    if hdfs is None:
        return
    if draft.written((*path, "read_only")) and not mount.read_only:
        yield draft.error(
            "hdfs-read-only",
            (*path, "read_only"),
            "An HDFS is only read through the cache.",
            "false",
            "true",
            "Remove read_only, or write to the HDFS by its own tools.",
        )
    if hdfs.authentication == "kerberos":
        yield draft.error(
            "hdfs-kerberos",
            (*path, "hdfs", "authentication"),
            "An HDFS with Kerberos is not supported: the cache's servers have no ticket, and nothing here renews one.",
            "kerberos",
            "simple",
            "Copy what is wanted into cephfs or a bucket (hadoop distcp), and mount that.",
        )
    for name in hdfs.properties:
        if name.startswith(OURS):
            yield draft.error(
                "hdfs-property",
                (*path, "hdfs", "properties", name),
                "This property of Hadoop's client is written by avadm, or wants what the cache has not.",
                name,
                "none of " + ", ".join(OURS),
                "Write namenodes and authentication in its place.",
            )
    named = [((*path, "hdfs", "namenodes", i), name, None) for i, name in enumerate(hdfs.namenodes)]
    yield from draft.twice("namenode-twice", "The namenode", named)


def _cephfs(draft: Draft) -> Iterator[Finding]:
    """Return what is wrong with under stores on cephfs: masters and workers read it as a folder of their own."""
    knobs, ceph = draft.site.components.alluxio, draft.site.components.ceph
    if knobs is None or not any(m.cephfs for m in knobs.mounts) or not draft.ok("components", "ceph"):
        return
    if ceph.filesystem is None:
        yield draft.error(
            "mount-without-cephfs",
            (*PATH, "mounts"),
            "An under store lies on cephfs, which the site has not.",
            "filesystem: null",
            "components.ceph.filesystem",
            "Remove the under store, or add the file system.",
        )
        return
    if draft.whole("roles"):
        for i, node in draft.nodes("roles"):
            if set(SERVERS) & set(node.roles) and "client" not in node.roles:
                yield draft.error(
                    "cache-without-mount",
                    ("nodes", i, "roles"),
                    f"{node.name} serves the cache of a folder on cephfs, which it does not mount.",
                    ", ".join(node.roles),
                    "the role client too",
                    "Add the role client.",
                    node.name,
                )


def mount_point(draft: Draft) -> Iterator[Finding]:
    """Clients see the cache at a place of its own."""
    knobs, fs = draft.site.components.alluxio, draft.site.components.ceph.filesystem
    if knobs is None or fs is None or not (draft.ok(*PATH) and draft.ok("components", "ceph")):
        return
    if _within(knobs.mount_point, fs.mount) or _within(fs.mount, knobs.mount_point):
        yield draft.error(
            "mount-point-shared",
            (*PATH, "mount_point"),
            "The cache and cephfs would be mounted inside of one another.",
            f"{knobs.mount_point}, {fs.mount}",
            "mount points apart from one another",
            "Choose another mount_point.",
        )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


RULES = [complete, tiers, mounts, mount_point]
