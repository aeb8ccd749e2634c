"""What is measured of the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bucket:
    """A bucket of the site's own object store, as its owner writes to it.

    Attributes:
        name: the bucket's.
        prefix: what keys of the mounted part start with: "" or a folder with its slash.
        keys: its owner's access key and secret key; never shown.
    """

    name: str
    prefix: str
    keys: tuple[str, str] = field(repr=False)


@dataclass(frozen=True)
class Store:
    """One under store of the cache.

    Attributes:
        name: ``cephfs`` or ``s3``.
        path: folder of the cache where it is mounted.
        folder: where it is mounted on ``writers``; "" where no node can write to it but through the cache.
        writers: nodes that write to it straight.
        read_only: whether the cache refuses to write.
        bucket: the bucket that can be written to behind the cache; None where there is none.
    """

    name: str
    path: str
    folder: str = ""
    writers: tuple[str, ...] = ()
    read_only: bool = False
    bucket: Bucket | None = None


@dataclass(frozen=True)
class CacheTarget:
    """What is measured of the cache.

    Attributes:
        masters: nodes that may lead.
        workers: nodes that keep what is cached.
        clients: nodes that mount it.
        mount: where they do.
        addresses: every node's name to its address.
        stores: under stores.
        sync_s: seconds after which a change in an under store is seen at the latest, without the mount's own.
        master_port: where a master tells its metrics.
        worker_port: where a worker does.
    """

    masters: tuple[str, ...]
    workers: tuple[str, ...]
    clients: tuple[str, ...]
    mount: str
    addresses: Mapping[str, str]
    stores: tuple[Store, ...]
    sync_s: float
    master_port: int = 19999
    worker_port: int = 29998
