"""Rules over the cache (Alluxio): who runs what of it, its tiers in order, its under stores reachable."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.alluxio import placement as cache
from avadm.components.alluxio.options import CacheMount, HdfsStore, S3Store
from avadm.components.ava.component import FOLDERS
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
                yield draft.finding(
                    "role-unused",
                    ("nodes",),
                    ", ".join(n.name for n in draft.site.with_role(role)),
                    "components.alluxio, or no such role",
                    role=role,
                )
        return
    needs = {"alluxio_master": "knows what is cached where", "alluxio_worker": "keeps what is cached"}
    yield from absent(draft, needs, {"alluxio_master": "1 or 3"})
    masters = draft.site.with_role("alluxio_master")
    if masters and len(masters) not in cache.ELECTED:
        yield draft.finding(
            "quorum-even",
            ("nodes",),
            f"{len(masters)}: {', '.join(n.name for n in masters)}",
            "1 or 3 alluxio_master",
        )
    elif len(masters) == 1:
        yield draft.finding("no-standby", ("nodes",), "1 alluxio_master", "3 alluxio_master")


def tiers(draft: Draft) -> Iterator[Finding]:
    """Tiers go from fast to slow, each kind once, each in a folder of its own."""
    knobs = draft.site.components.alluxio
    if knobs is None or not draft.ok(*PATH):
        return
    kinds = [t.kind for t in knobs.tiers]
    if not kinds or kinds != [k for k in KINDS if k in kinds]:
        yield draft.finding(
            "tier-order",
            (*PATH, "tiers"),
            ", ".join(kinds) or "none",
            "some of MEM, SSD, HDD in this order, each once",
        )
    for i, tier in enumerate(knobs.tiers):
        for other in knobs.tiers[:i]:
            if _shared(tier.path, other.path):
                yield draft.finding(
                    "tier-shared",
                    (*PATH, "tiers", i, "path"),
                    f"{tier.path}, {other.path}",
                    "folders apart from one another",
                )


def mounts(draft: Draft) -> Iterator[Finding]:
    """Each under store is one thing, at a place of its own, and reachable from the servers."""
    knobs = draft.site.components.alluxio
    if knobs is None or not draft.ok(*PATH):
        return
    seen = [((*PATH, "mounts", i, "path"), m.path, None) for i, m in enumerate(knobs.mounts)]
    yield from draft.twice("mount-twice", seen)
    for i, mount in enumerate(knobs.mounts):
        kinds = [kind for kind in ("cephfs", "s3", "hdfs") if getattr(mount, kind) is not None]
        if len(kinds) != 1:
            yield draft.finding(
                "mount-kind",
                (*PATH, "mounts", i),
                " and ".join(kinds) or "none of them",
                "cephfs, s3 or hdfs",
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
        yield draft.finding(
            "mount-store", path, given, "endpoint and secret, or none of endpoint, secret and ca_file"
        )
    elif s3.endpoint is None and draft.ok("components", "object_store"):
        store = draft.site.components.object_store
        names = [b.name for b in store.buckets] if store else []
        if s3.bucket not in names:
            yield draft.finding(
                "mount-without-bucket",
                (*path, "bucket"),
                s3.bucket,
                f"one of {', '.join(names)}" if names else "components.object_store with this bucket",
            )


def _hdfs(draft: Draft, path: KeyPath, mount: CacheMount, hdfs: HdfsStore | None) -> Iterator[Finding]:
    """Return what is wrong with a folder of an HDFS: it is read with a name alone, and never written."""
    if hdfs is None:
        return
    if draft.written((*path, "read_only")) and not mount.read_only:
        yield draft.finding("hdfs-read-only", (*path, "read_only"), "false", "true")
    if hdfs.authentication == "kerberos":
        yield draft.finding("hdfs-kerberos", (*path, "hdfs", "authentication"), "kerberos", "simple")
    for name in hdfs.properties:
        if name.startswith(OURS):
            yield draft.finding(
                "hdfs-property", (*path, "hdfs", "properties", name), name, "none of " + ", ".join(OURS)
            )
    named = [((*path, "hdfs", "namenodes", i), name, None) for i, name in enumerate(hdfs.namenodes)]
    yield from draft.twice("namenode-twice", named)


def _cephfs(draft: Draft) -> Iterator[Finding]:
    """Return what is wrong with under stores on cephfs: masters and workers read it as a folder of their own."""
    knobs, ceph = draft.site.components.alluxio, draft.site.components.ceph
    if knobs is None or not any(m.cephfs for m in knobs.mounts) or not draft.ok("components", "ceph"):
        return
    if ceph.filesystem is None:
        yield draft.finding(
            "mount-without-cephfs", (*PATH, "mounts"), "filesystem: null", "components.ceph.filesystem"
        )
        return
    if draft.site.components.ava is not None:
        for i, mount in enumerate(knobs.mounts):
            own = [f"/{name}" for name in FOLDERS if mount.cephfs and _within(mount.cephfs, f"/{name}")]
            if own:
                path = (*PATH, "mounts", i, "cephfs")
                yield draft.finding("mount-of-platform", path, mount.cephfs, f"a folder beside {own[0]}")
    if draft.whole("roles"):
        for i, node in draft.nodes("roles"):
            if set(SERVERS) & set(node.roles) and "client" not in node.roles:
                yield draft.finding(
                    "cache-without-mount",
                    ("nodes", i, "roles"),
                    ", ".join(node.roles),
                    "the role client too",
                    host=node.name,
                    name=node.name,
                )


def mount_point(draft: Draft) -> Iterator[Finding]:
    """Clients see the cache at a place of its own."""
    knobs, fs = draft.site.components.alluxio, draft.site.components.ceph.filesystem
    if knobs is None or fs is None or not (draft.ok(*PATH) and draft.ok("components", "ceph")):
        return
    if _shared(knobs.mount_point, fs.mount):
        yield draft.finding(
            "mount-point-shared",
            (*PATH, "mount_point"),
            f"{knobs.mount_point}, {fs.mount}",
            "mount points apart from one another",
        )


def _shared(one: str, other: str) -> bool:
    return _within(one, other) or _within(other, one)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


RULES = [complete, tiers, mounts, mount_point]
