"""The knobs of the platform, AVA."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from avadm.components.ava.options_services import Certificate, Ldap, Notices, Oidc
from avadm.site.values import Model, Real, Subnet, Whole

Port = Annotated[Whole, Field(ge=1, le=65535)]


class GitServer(Model):
    """A server of code: users' pods may reach it at these addresses and ports, and nothing else there."""

    networks: list[Subnet] = Field(min_length=1)
    """Its addresses; one alone is written with /32."""
    ports: list[Port] = [443]
    """TCP ports: 443 for https, 22 for ssh."""
    host_keys: str = ""
    """Its host keys as known_hosts has them (`ssh-keyscan NAME`, compared with what the server's owner says); wanted for ssh."""
    ca: str = ""
    """Authority of its certificate, PEM, where that is not a public one."""


def _elsewhere(name: str) -> str:
    """Refuse names under which a node would ask itself."""
    own = name == "localhost" or name.endswith(".localhost")
    try:
        address = ip_address(name)
    except ValueError:
        address = None
    if own or (address and (address.is_loopback or address.is_link_local or address.is_unspecified)):
        raise ValueError("a node would ask itself there: name the server")
    return name


NfsServer = Annotated[
    str,
    Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$", max_length=253),
    AfterValidator(_elsewhere),
]
"""A host name or an IPv4 address."""


class Workbenches(Model):
    """When idle workbenches are stopped: no browser, no ssh session, next to no use of processors and GPUs."""

    idle_hours: Real | None = Field(default=None, gt=0, le=8760)
    """After so many hours; never where absent. Their use is asked of the site's Prometheus: without one none is stopped."""
    warn_hours: Real = Field(default=1, gt=0, le=8760)
    """Hours before the stop at which the user is notified."""


Space = Annotated[Whole, Field(ge=0, le=2**20)]
Amount = Annotated[Whole, Field(ge=1, le=2**30)]


class ImageSpace(Model):
    """What images that users push may take of the image registry's disk, GiB; `null` is no limit."""

    user_gib: Space | None = 50
    """Of each user."""
    group_gib: Space | None = 200
    """Of each group."""
    others: dict[
        Annotated[str, Field(pattern=r"^(users|groups)/[a-z]([-a-z0-9]{0,30}[a-z0-9])?$")], Space | None
    ] = {}
    """Of single users and groups, in place of that: `users/NAME` or `groups/GROUP` to GiB."""


class FolderSpace(Model):
    """Limits of the shared file system, GiB, where none is chosen for a home or a data set; absent: no limit."""

    home_gib: Amount | None = None
    """Of each home; an administrator can choose another for one user (`ava storage set home NAME --limit`)."""
    data_set_gib: Amount | None = None
    """Of each new data set for which its owner names no limit; existing ones keep theirs."""
    owner_gib: Amount | None = None
    """Of all data sets of one owner together, as far as their limits count; needs `data_set_gib`."""

    @model_validator(mode="after")
    def _every_data_set_has_a_limit(self) -> Self:
        if self.owner_gib is not None and not self.data_set_gib:
            raise ValueError("owner_gib needs data_set_gib: a data set without a limit counts for nothing")
        return self


class Ava(Model):
    """The platform, AVA: its own processes run as pods on workers without GPUs, its data lie in the database `ava`."""

    host: str = Field(default="ava", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """Name under which users reach it, before `network.domain`."""
    certificate: Certificate | None = None
    """Certificate of your own for that name; workbenches and services below the domain keep those of the site's authority."""
    replicas: Whole = Field(default=2, ge=1, le=9)
    """Processes of each kind: of the API all serve, of the others one leads."""
    registration: bool = True
    """Whether people may register themselves; an administrator still approves each."""
    images: list[
        Literal["ava-base", "ava-tensorflow", "ava-pytorch", "ava-tensorflow-cuda", "ava-pytorch-cuda"]
    ] = ["ava-base"]
    """Images of users' containers that are put into the site's registry; code from git wants ava-base."""
    image_space: ImageSpace = ImageSpace()
    """What images of users' own may take of the image registry's disk."""
    space: FolderSpace = FolderSpace()
    """What homes and data sets may take of the shared file system."""
    git: list[GitServer] = []
    """Servers from which code of trainings may be cloned; none: no training has its code from git."""
    nfs_servers: list[NfsServer] = []
    """NFS servers whose folders the platform's administrators may make data sets of, read-only; none: no data set is from NFS."""
    workbenches: Workbenches = Workbenches()
    """When idle workbenches are stopped."""
    oidc: Oidc | None = None
    """OpenID Connect provider at which people log in, beside name and password."""
    ldap: Ldap | None = None
    """Directory by which people log in."""
    notices: Notices | None = None
    """How users hear of the end of their runs; only on AVA's own pages where absent."""
