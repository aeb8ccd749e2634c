"""What is measured: a site's storage, and its Kubernetes, object store, cache, logs and platform where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from avadm_validation.protocol.fleet import Fleet, Result


@dataclass(frozen=True)
class KubeTarget:
    """What is measured of Kubernetes.

    Attributes:
        master: a node on which root's ``kubectl`` works.
        nodes: every node that runs pods, masters too.
        version: what every kubelet must report, e.g. ``v1.9.11``.
        image: the image of the acceptance pods, with its registry; has python3.
        domain: the site's second-level domain.
        addresses: every node's name to its address.
        ingress: address of the way in from outside, "" where there is none.
        balancer: first and last address of services of the type LoadBalancer, () where there are none.
        outside: a node that is not part of the cluster, "" where there is none.
        gpu_nodes: nodes with GPUs.
        masters: nodes that run the control plane.
        etcd: nodes that keep its database.
        cluster_domain: domain of the cluster's own names.
        classes: storage classes that the site has.
        default_class: the one of claims that name none, "" for none.
        mounters: nodes that run pods and mount volumes of ceph.
        kubelet: what every kubelet keeps back and when it evicts, as its own configuration names it.
    """

    master: str
    nodes: tuple[str, ...]
    version: str
    image: str
    domain: str
    addresses: Mapping[str, str]
    ingress: str = ""
    balancer: tuple[str, ...] = ()
    outside: str = ""
    gpu_nodes: tuple[str, ...] = ()
    masters: tuple[str, ...] = ()
    etcd: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    classes: tuple[str, ...] = ()
    default_class: str = ""
    mounters: tuple[str, ...] = ()
    kubelet: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ObjectTarget:
    """An S3 store.

    Attributes:
        endpoint: URL that clients use.
        region: region that requests are signed for.
        keys: access key and secret key of the suite's user, never shown; empty until this run has made its own (users.py).
        ca: path, on clients, of the authority's certificate; "" for those that the system trusts.
        gateways: node to the URL of its gateway; none for a store that others run.
        limited: keys of a user with a quota; () where there is none, or not yet.
        ca_pem: that certificate, for the controller; "" for those that the system trusts.
        quota_bytes: that quota; 0 where others run the store.
    """

    endpoint: str
    region: str
    keys: tuple[str, str] = field(repr=False)
    ca: str = ""
    gateways: Mapping[str, str] = field(default_factory=dict)
    limited: tuple[str, ...] = field(default=(), repr=False)
    quota_bytes: int = 0
    ca_pem: str = ""

    @property
    def direct(self) -> str:
        """URL at which the controller, which need not know the name, reaches the store."""
        return next(iter(self.gateways.values()), self.endpoint)


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
class UnderStore:
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
    stores: tuple[UnderStore, ...]
    sync_s: float
    master_port: int = 19999
    worker_port: int = 29998


@dataclass(frozen=True)
class LogTarget:
    """What is measured of the logs.

    Attributes:
        stores: node of each store to the URL under which it is reached.
        user: name that they want; the password is read on the node.
        unit: the store's unit.
    """

    stores: Mapping[str, str]
    user: str
    unit: str = "avadm-log-store"


@dataclass(frozen=True)
class Listener:
    """A TCP port of the site's own programs that no user's container may reach.

    Attributes:
        name: of the port and its program, unique.
        node: where it is listened on.
        address: that node's.
        port: the number.
        always: whether something listens there at all times.
    """

    name: str
    node: str
    address: str
    port: int
    always: bool = True


@dataclass(frozen=True)
class MetricsTarget:
    """Where Prometheus is asked what dashboards show.

    Attributes:
        node: has Prometheus; root there may ask it.
        address: where it listens, ADDRESS:PORT.
        tls: what it is shown where it wants that, without .ca, .crt and .key.
        exporter: port of the exporter of GPUs on their nodes.
        used, free: queries of the panels that tell GPUs of each machine, every variable on all.
        runs: that of how hard each run's GPUs work, a ratio.
    """

    node: str
    address: str
    tls: str
    exporter: int
    used: str
    free: str
    runs: str


@dataclass(frozen=True)
class PlatformTarget:
    """The platform as its users reach it.

    Attributes:
        host: the name under which it is reached.
        address: the ingress' address, which that name means; the controller's own resolver need not know it.
        master: a node on which root's ``kubectl`` works, and which has the certificate of the ingress' authority.
        image: an image with python3 that every node can pull.
        gpu_nodes: workers with GPUs.
        plain_nodes: workers without.
        make_admin: makes a user an administrator with a password (fleet, name, password); the password goes by standard input
            alone, nothing of it is kept.
        authority: path of that certificate on the master.
        trusted: authority of a certificate of the site's own, PEM, in its place; "" for those that the system trusts.
        addresses: nodes' own, by their names.
        ingress: a node of the ingress, which reaches the interface's pods.
        metrics: Prometheus, None where the site has none of ours.
        folders: whether users' containers see folders of groups on a shared file system.
        closed: ports that no user's container may reach, one node for each program's.
    """

    host: str
    address: str
    master: str
    image: str
    gpu_nodes: tuple[str, ...]
    plain_nodes: tuple[str, ...]
    make_admin: Callable[[Fleet, str, str], Result] = field(repr=False)
    authority: str = "/etc/kubernetes/pki/ca.crt"
    trusted: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    ingress: str = ""
    metrics: MetricsTarget | None = None
    folders: bool = False
    closed: tuple[Listener, ...] = ()


@dataclass(frozen=True)
class Target:
    """What is measured.

    Attributes:
        site: name of the site.
        profile: its version profile.
        kind: ``site`` or ``lab``; chooses criteria and efforts.
        clients: client nodes, in order.
        mon: a node on which root's ``ceph`` works; "" where there is no ceph.
        nodes: every node, for clock comparison.
        mds: nodes that may run an MDS.
        mount: mount point of cephfs on clients; None where there is none.
        pool: pool of rbd images; None where there is none.
        rbd_user: cephx user (without ``client.``) that clients use for images.
        python: interpreter on nodes.
        ceph_python: interpreter on clients that has ceph's bindings.
        max_skew_ms: largest clock difference allowed.
        notes: what the reader must know of the site.
        kube: its Kubernetes, None where it has none.
        objects: its object store, None where it has none.
        cache: its cache, None where it has none.
        logs: where its logs are kept, None where they are not.
        platform: its platform, None where it has none.
    """

    site: str
    profile: str
    kind: Literal["site", "lab"]
    clients: tuple[str, ...]
    mon: str
    nodes: tuple[str, ...]
    mds: tuple[str, ...] = ()
    mount: str | None = "/mnt/cephfs"
    pool: str | None = "rbd"
    rbd_user: str = "rbd"
    python: str = "python3"
    ceph_python: str = "python3"
    max_skew_ms: float = 50.0
    notes: tuple[str, ...] = ()
    kube: KubeTarget | None = None
    objects: ObjectTarget | None = None
    cache: CacheTarget | None = None
    logs: LogTarget | None = None
    platform: PlatformTarget | None = None

    @property
    def storage(self) -> str | None:
        """The node that is asked about the storage; None where there is no ceph, or no client of it."""
        return self.mon if self.mon and self.clients else None
