"""The knobs of the components: the part `components` of a site file's model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from avadm.components.alluxio.options import Alluxio
from avadm.components.ava.options import Ava
from avadm.components.objects.options import ObjectStore, VaultName
from avadm.site.values import Address, Model, NodeName, Real, Whole


class RbdPool(Model):
    """A pool of block images."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)
    """Pool name."""
    share: Real = Field(default=0.5, gt=0, le=1)
    """Expected share of the cluster's data, for computing placement groups."""


class Cephfs(Model):
    """The shared file system."""

    name: str = Field(default="cephfs", pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)
    """File system name."""
    active_mds: Whole = Field(default=1, ge=1)
    """Ranks that serve at once; every other mds node stands by."""
    share: Real = Field(default=0.4, gt=0, le=1)
    """Expected share of the cluster's data, for computing placement groups."""
    mount: str = Field(default="/mnt/cephfs", pattern=r"^/", max_length=128)
    """Mount point on client nodes."""


class BackfillLimits(Model):
    """Limits of backfill and recovery of each OSD; one that is absent is ceph's own."""

    max_backfills: Whole | None = Field(default=None, ge=1, le=64)
    """Backfills at once from, and to, an OSD (osd_max_backfills)."""
    recovery_max_active: Whole | None = Field(default=None, ge=1, le=256)
    """Recovery operations at once of an OSD (osd_recovery_max_active)."""
    recovery_sleep_s: Real | None = Field(default=None, ge=0, le=10)
    """Pause between two recovery operations, seconds (osd_recovery_sleep); 0: ceph's own for the disk's kind."""


class Backfill(Model):
    """How fast data are moved and copies restored, by the hour of the day."""

    limits: BackfillLimits = BackfillLimits(max_backfills=1, recovery_max_active=1, recovery_sleep_s=0.1)
    """Limits of all other hours, and of the whole day where `hours` is absent."""
    hours: str | None = Field(
        default=None, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"
    )
    """Hours of the day, UTC, in which `limits_in_hours` are in force: HH:MM-HH:MM, over midnight too."""
    limits_in_hours: BackfillLimits | None = None
    """Limits within `hours`, usually larger ones."""


class Ceph(Model):
    """Storage cluster."""

    replicas: Whole = Field(default=2, ge=2, le=5)
    """Copies of each object."""
    min_replicas: Whole = Field(default=1, ge=1)
    """Copies needed to serve I/O; 1 of 2 keeps serving after a loss but risks acknowledged writes."""
    failure_domain: Literal["host", "rack"] = "host"
    """CRUSH level at which copies are kept apart."""
    osd_memory_mib: Whole = Field(default=4096, ge=896, le=1 << 20)
    """Memory target of one OSD, MiB."""
    mds_cache_mib: Whole = Field(default=4096, ge=64, le=1 << 20)
    """Cache limit of one MDS, MiB."""
    filesystem: Cephfs | None = Cephfs()
    """The cephfs file system; null for none."""
    rbd_pools: list[RbdPool] = [RbdPool(name="rbd")]
    """Pools for block images."""
    backfill: Backfill | None = None
    """Limits of backfill and recovery by the hour; none are set where absent."""
    config: dict[str, dict[str, str | int | float | bool]] = {}
    """Further ceph.conf sections, merged over ours."""


class Monitoring(Model):
    """Metrics and alerts."""

    existing: list[str] = []
    """URLs of the site's own Prometheus servers; then none is installed, only their configuration is made."""
    retention_days: Whole = Field(default=15, ge=1, le=3650)
    """How long samples are kept."""
    disk_gib: Whole | None = Field(default=None, ge=1, le=1 << 20)
    """What samples may take of each Prometheus node's disk, GiB: the oldest go first. Absent: half of their file system."""
    scrape_interval_s: Whole = Field(default=15, ge=1, le=120)
    """Seconds between two scrapes; beyond two minutes Prometheus takes what it last saw for gone."""
    webhook_url: str | None = None
    """Where Alertmanager posts alerts; kept in its own log where absent."""


class Reserved(Model):
    """What a Kubernetes node keeps back from pods."""

    cpu_millicores: Whole = Field(default=500, ge=0)
    """Thousandths of a core."""
    memory_mib: Whole = Field(default=1024, ge=0, le=1 << 20)
    """Memory, MiB."""


class Eviction(Model):
    """Below which amounts of what is left a Kubernetes node evicts pods."""

    memory_mib: Whole = Field(default=500, ge=1, le=1 << 20)
    """Memory, MiB."""
    disk_percent: Real = Field(default=10.0, gt=0, lt=100)
    """Space of the disks of kubelet and of images, percent."""
    inodes_percent: Real = Field(default=5.0, gt=0, lt=100)
    """Inodes of kubelet's disk, percent."""


class Etcd(Model):
    """Kubernetes' database."""

    snapshot_minutes: Whole = Field(default=60, ge=1, le=1440)
    """Minutes between two snapshots."""
    snapshots_kept: Whole = Field(default=48, ge=1, le=1000)
    """Snapshots kept on each etcd node."""


# No two hyphens in a row: the vault would keep one key for `a-b` and `a--b`.
AccountName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)]
Namespace = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class Account(Model):
    """Somebody who may use Kubernetes, with a certificate and a kubeconfig of their own."""

    name: AccountName
    """User name, of small letters, digits and single hyphens."""
    role: Literal["viewer", "operator", "tenant"]
    """What they may do: see docs/explanation/kubernetes.md."""
    namespaces: list[Namespace] = []
    """Where a tenant works; made where they are not there, and never removed. None for the other roles."""


class Registry(Model):
    """An image registry that others run, from which nodes pull."""

    name: str = Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?$")
    """HOST or HOST:PORT, as images' names begin."""
    ca: str | None = Field(default=None, pattern=r"^\s*-----BEGIN CERTIFICATE-----")
    """Certificate of the authority that signed its own, PEM; one that nodes' systems trust where absent."""
    user: str | None = Field(default=None, pattern=r"^[^:\s]+$")
    """User that nodes pull as; no one where absent."""
    password: VaultName = "vault_registry_password"  # noqa: S105  a variable's name
    """Vault variable that holds the user's password: it is put there with `ansible-vault edit`, never into this file."""


class Kubernetes(Model):
    """Compute cluster; installed where nodes have the role master."""

    system_reserved: Reserved = Reserved()
    """Kept back on each node for the operating system and what avadm runs beside Kubernetes."""
    kube_reserved: Reserved = Reserved()
    """Kept back on each node for kubelet, the container engine and Calico."""
    eviction: Eviction = Eviction()
    """When nodes evict pods."""
    etcd: Etcd = Etcd()
    """Kubernetes' database."""
    registry_storage: Literal["disk", "cephfs"] = "disk"
    """Where the image registry keeps images: on its node's disk, or on the shared file system."""
    registries: list[Registry] = []
    """Image registries that others run, beside the site's own (role registry) or in its place."""
    dns_site: list[Address] = []
    """Servers that know the site's own domain, asked for its names that are no nodes'; dns_upstream where absent."""
    default_class: Literal["cephfs", "rbd", "local", "none"] = "cephfs"
    """Storage class of claims that name none."""
    rbd_pool: str | None = None
    """Pool of pods' block volumes; the first of `ceph.rbd_pools` where absent."""
    dns_upstream: list[str] = []
    """Servers that the cluster's DNS asks for names of neither cluster nor site; none in a closed room."""
    gpu_taint: bool = False
    """Whether GPU nodes take only pods that ask for GPUs, as they do with ava; then some worker must be without GPUs."""
    certificate_days: Whole = Field(default=365, ge=3, le=3650)
    """Life of certificates, days; `avadm apply` renews one that has less than a third of it left."""
    accounts: list[Account] = []
    """People and programs that use Kubernetes, beside the administrator."""


class LogFile(Model):
    """Log files of one component."""

    component: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)
    """What the lines are kept under."""
    folder: str = Field(pattern=r"^/")
    """Folder of the files."""
    names: str = Field(default="*.log", pattern=r"^[A-Za-z0-9_.*?-]+$")
    """File names, with * and ?."""


class Logs(Model):
    """Logs of all nodes and pods in one place."""

    stores: list[NodeName] = Field(min_length=1)
    """Nodes that keep the logs; each keeps all of them, so that with two the loss of one loses nothing."""
    retention_days: Whole = Field(default=30, ge=1, le=3650)
    """How long lines are kept."""
    disk_gib: Whole = Field(default=100, ge=1, le=1 << 20)
    """What the lines may take of each store's disk, GiB; the oldest days go before that."""
    port: Whole = Field(default=9428, ge=1024, le=65535)
    """TCP port of the stores: TLS, with a user name and a password."""
    buffer_mib: Whole = Field(default=512, ge=16, le=1 << 20)
    """What each node keeps on its disk for each store that does not answer, MiB."""
    learning_hours: Whole = Field(default=24, ge=0, le=720)
    """Hours after the first start in which new error patterns are learnt and not reported."""
    pattern_days: Whole = Field(default=14, ge=1, le=365)
    """An error pattern that was not seen for so many days counts as new."""
    files: list[LogFile] = []
    """Further log files that are read on every node that has them."""


DatabaseName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class DatabaseBackup(Model):
    """Backups of PostgreSQL: in the object store, unless a folder is named."""

    directory: str | None = Field(default=None, pattern=r"^/[^\s]*[^\s/]$")
    """Folder that all nodes of the database share (NFS, cephfs), made by you, writable for the user postgres."""
    hour: Whole = Field(default=2, ge=0, le=23)
    """Hour of the day, UTC, at which a backup is made."""
    weeks_kept: Whole = Field(default=4, ge=1, le=520)
    """Full backups that are kept, one a week; any time since the oldest of them can be restored."""
    undelete_days: Whole = Field(default=14, ge=1, le=3650)
    """Days for which the site's own object store keeps what was deleted or overwritten there."""
    waiting_gib: Whole = Field(default=16, ge=1, le=1 << 20)
    """WAL that may wait on the primary while no archive takes it, GiB; more is given up, so that the disk does not fill."""


class Database(Model):
    """PostgreSQL for the platform; runs on the nodes with the role database."""

    vip: Address | None = None
    """Address of the management subnet that these nodes hold together; needed where there are several."""
    port: Whole = Field(default=5432, ge=1024, le=65535)
    """TCP port."""
    names: list[DatabaseName] = ["ava"]
    """Databases; each belongs to a user of its own name, whose password is the vault's `vault_database_NAME`."""
    backup: DatabaseBackup | None = DatabaseBackup()
    """Backups, where there is a place for them; null for none."""


class Components(Model):
    """The few knobs of each component."""

    ceph: Ceph = Ceph()
    """Storage cluster."""
    monitoring: Monitoring = Monitoring()
    """Metrics and alerts."""
    kubernetes: Kubernetes = Kubernetes()
    """Compute cluster."""
    object_store: ObjectStore | None = None
    """Objects by the S3 protocol; none where absent."""
    logs: Logs | None = None
    """Logs of all nodes and pods in one place; none are kept where absent."""
    database: Database | None = None
    """PostgreSQL for the platform; none where absent."""
    alluxio: Alluxio | None = None
    """Cache before the shared file system and object stores; none where absent."""
    ava: Ava | None = None
    """The platform, AVA; none where absent."""
