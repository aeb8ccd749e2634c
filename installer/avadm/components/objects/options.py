"""The knobs of the object store (S3): the part `components.object_store` of a site file's model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from avadm.site.values import Address, Model, Real, Whole

OBJECTS_PORT = 7443
"""TCP port of the gateways and of their virtual address, unless the site file says another."""

# No two hyphens in a row: the vault would keep one key for `a-b` and `a--b`.
UserName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)]
BucketName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$")]
VaultName = Annotated[str, Field(pattern=r"^vault_[a-z0-9_]+$")]


class ObjectUser(Model):
    """Somebody who keeps objects; their keys are made once and kept in the vault."""

    name: UserName
    """User name, of small letters, digits and single hyphens."""
    quota_mib: Whole | None = Field(default=None, ge=1, le=1 << 40)
    """What all objects of the user may take together, MiB; no limit where absent."""
    quota_objects: Whole | None = Field(default=None, ge=1)
    """How many objects the user may have; no limit where absent."""


class Bucket(Model):
    """A bucket that is always there; it is never removed."""

    name: BucketName
    """Its name."""
    owner: UserName | None = None
    """User that it belongs to; with an external store, whose key is `external`'s, none."""
    versioning: bool = False
    """Whether it keeps former versions of objects."""


class EtcdCopies(Model):
    """Where copies of etcd's snapshots go in a store that others run: with a key of their own, which opens nothing else."""

    bucket: BucketName
    """A bucket that is there."""
    access_key: VaultName = "vault_etcd_copies_access_key"
    """Vault variable that holds the access key."""
    secret_key: VaultName = "vault_etcd_copies_secret_key"  # noqa: S105  a variable's name
    """Vault variable that holds the secret key."""


class DatabaseCopies(Model):
    """Where backups of PostgreSQL go in a store that others run: with a key of their own, which opens nothing else."""

    bucket: BucketName
    """A bucket that is there; have its former versions kept, so that what is deleted can be restored."""
    access_key: VaultName = "vault_database_backups_access_key"
    """Vault variable that holds the access key."""
    secret_key: VaultName = "vault_database_backups_secret_key"  # noqa: S105  a variable's name
    """Vault variable that holds the secret key."""


class ExternalStore(Model):
    """An S3 store that others run, such as Kodo."""

    endpoint: str
    """URL, https://HOST or https://HOST:PORT."""
    region: str = Field(default="us-east-1", pattern=r"^[A-Za-z0-9_.-]+$")
    """Region that requests are signed for."""
    access_key: VaultName = "vault_objects_access_key"
    """Vault variable that holds the access key: it is put there with `ansible-vault edit`, never into this file."""
    secret_key: VaultName = "vault_objects_secret_key"  # noqa: S105  a variable's name
    """Vault variable that holds the secret key."""
    etcd_copies: EtcdCopies | None = None
    """Bucket and key for copies of etcd's snapshots; none are made where absent."""
    database_backups: DatabaseCopies | None = None
    """Bucket and key for backups of PostgreSQL; none are made there where absent."""


class ObjectStore(Model):
    """Objects by the S3 protocol: gateways of the site's own ceph, or a store that others run."""

    provider: Literal["ceph-rgw", "external"] = "ceph-rgw"
    """Who serves: nodes with the role rgw, or `external`."""
    name: str | None = None
    """DNS name under which clients know it and that is in its certificate; objects.DOMAIN where absent."""
    port: Whole = Field(default=OBJECTS_PORT, ge=1, le=65535)
    """TCP port, TLS only."""
    vip: Address | None = None
    """Address of the management subnet that the rgw nodes hold together; needed where there are several."""
    share: Real = Field(default=0.1, gt=0, le=1)
    """Expected share of the cluster's data, for computing placement groups."""
    users: list[ObjectUser] = []
    """Users of the site's own gateways."""
    buckets: list[Bucket] = []
    """Buckets that are made."""
    external: ExternalStore | None = None
    """The store that others run, with provider external."""
