"""The knobs of the cache (Alluxio) and its under stores: the part `components.alluxio` of a site file's model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from avadm.site.values import Model, Whole

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
NameNode = Annotated[str, Field(pattern=rf"^{_LABEL}(\.{_LABEL})*(:[1-9][0-9]{{0,4}})?$", max_length=260)]
"""A host name or IPv4 address, with a port or without."""


class Tier(Model):
    """One tier of a cache worker's storage."""

    kind: Literal["MEM", "SSD", "HDD"]
    """What it lies on; from the fastest to the slowest, each kind once."""
    path: str = Field(pattern=r"^/[^\s,:]*[^\s,:/]$")
    """Folder of its blocks, used for nothing else; for MEM avadm mounts a memory file system there."""
    quota_mib: Whole | None = Field(default=None, ge=64, le=1 << 30)
    """How much it may hold, MiB; where absent it is computed from the machine's memory or the folder's disk."""


class S3Store(Model):
    """A bucket as an under store of the cache: of the site's own object store, or of another one by endpoint and secret."""

    bucket: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    """Its name."""
    folder: str = Field(default="", pattern=r"^([^/\s]+(/[^/\s]+)*)?$")
    """Part of the bucket that is mounted; all of it where empty."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^\s/]+$")
    """The store's address, e.g. https://s3.demo.example:7480; where absent, the bucket is one of components.object_store."""
    secret: str | None = Field(default=None, pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$")
    """Name of its keys in the site's vault: vault_NAME_access_key and vault_NAME_secret_key. With endpoint alone: the keys
    of a bucket of the site's own store are its owner's."""
    ca_file: str | None = None
    """Certificate of the authority that signed the endpoint's, PEM; relative to the site file. None for a public one,
    and for the site's own store, whose authority avadm knows."""


class HdfsStore(Model):
    """A folder of an HDFS as an under store of the cache, which others run; it is only read."""

    namenodes: list[NameNode] = Field(min_length=1, max_length=8)
    """Its namenodes, HOST or HOST:PORT (8020 where absent); of several, which are one HDFS, the active one is found."""
    folder: str = Field(default="", pattern=r"^([^/\s]+(/[^/\s]+)*)?$")
    """Part of it that is mounted, e.g. data/sets; all of it where empty."""
    authentication: Literal["simple", "kerberos"] = "simple"
    """How it knows who asks: simple (it believes the name `hdfs_user`). Kerberos is refused: the cache has no ticket."""
    properties: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")], str] = {}
    """Further properties of Hadoop's client, as hdfs-site.xml has them, e.g. dfs.client.use.datanode.hostname; no secrets."""


class CacheMount(Model):
    """An under store, and where in the cache it is seen; exactly one of cephfs, s3 and hdfs."""

    path: str = Field(pattern=r"^/[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=128)
    """Folder at the root of the cache."""
    cephfs: str | None = Field(default=None, pattern=r"^/[^\s]*[^\s/]$")
    """Folder of the shared file system, which is made where it is not there; not the file system's own root."""
    s3: S3Store | None = None
    """Bucket of an object store."""
    hdfs: HdfsStore | None = None
    """Folder of an HDFS."""
    read_only: bool = False
    """Whether nothing can be written through the cache; of an HDFS nothing ever can."""


class Alluxio(Model):
    """Cache before the shared file system and object stores; on the nodes with the roles alluxio_master and alluxio_worker."""

    tiers: list[Tier] = [Tier(kind="MEM", path="/var/lib/alluxio/mem")]
    """Storage of each worker, the fastest first."""
    mounts: list[CacheMount] = Field(min_length=1)
    """Under stores."""
    mount_point: str = Field(default="/mnt/alluxio", pattern=r"^/[^\s]*[^\s/]$")
    """Where clients see the cache: nodes with the role alluxio_client, where there are none every node of Kubernetes."""
    hdfs_user: str = Field(default="ava", pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")
    """As whom each HDFS is read, by simple authentication: one name for all, which needs the right to read there and no other."""
    fuse: bool = True
    """Whether clients mount it; without, they have the command line alone."""
    sync_interval_s: Whole = Field(default=60, ge=0, le=86400)
    """After how many seconds a file or folder is compared with its under store when it is next asked for; a change there
    that did not come through the cache is seen that late at the most. 0: at each access."""
    block_mib: Whole | None = Field(default=None, ge=1, le=4096)
    """Size of a block, MiB; where absent, a sixteenth of the smallest tier, 1 to 64."""
    master_heap_mib: Whole | None = Field(default=None, ge=256, le=1 << 20)
    """Java heap of a master, MiB; computed from the machine's memory where absent."""
    worker_heap_mib: Whole | None = Field(default=None, ge=256, le=1 << 20)
    """Java heap of a worker, MiB; computed where absent."""
    client_heap_mib: Whole | None = Field(default=None, ge=128, le=1 << 20)
    """Java heap of the mount on a client, MiB; computed where absent."""
