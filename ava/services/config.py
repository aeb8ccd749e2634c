"""The settings of the API's program."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from ava.db.url import DatabaseUrl
from ava.domain.data_sets import Image, Server
from ava.images.catalogue import Name, Offered, completed
from ava.services.registry.client import Registry
from ava.settings import Address, Strict


def _expression(text: str) -> str:
    try:
        if re.compile(text).groups > 1:
            raise ValueError(f"{text!r}: wanted: one group at most")
    except re.error as error:
        raise ValueError(f"{text!r}: {error}") from error
    return text


Expression = Annotated[str, AfterValidator(_expression)]
"""A regular expression of Python; what its group matches is kept, where it has one."""
Rate = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,6}/(second|minute|hour|day)$")]
"""So many in so much time: ``20/minute``."""


class Tls(Strict):
    """Certificate and key, PEM."""

    certificate: Path
    key: Path


class LogStore(Strict):
    """One VictoriaLogs, or one Prometheus.

    Attributes:
        ca: of the store's authority.
        certificate, key: the API's own, by which the store knows it (mutual TLS).
        user, passfile: basic authentication where the store wants it; the file holds the password alone.
    """

    name: str
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+$")]
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str | None = None
    passfile: Path | None = None


class Cluster(Strict):
    """A Kubernetes whose pods' live logs the API may read; ``kubeconfig`` None: live logs come from the log stores."""

    kubeconfig: Path | None = None


class Limits(Strict):
    """How often somebody may try.

    Attributes:
        login_address: logins of one address.
        login_account: refused logins of one account from one address.
        login_name: refused logins of one account from all addresses, after which clients that it does not know are slowed down.
        login_slow: logins of such an account from clients that it does not know.
        registration: registrations of one address.
        confirmation_account, confirmation_address, confirmation_site: mails that ask to confirm an address, by the account, by
            the address and of the whole site.
        submit: runs of one user.
        change: other changes of one user.
        streams: logs that one user follows at once, and runs that one waits for.
    """

    login_address: Rate = "30/minute"
    login_account: Rate = "20/hour"
    login_name: Rate = "200/hour"
    login_slow: Rate = "30/minute"
    registration: Rate = "10/hour"
    confirmation_account: Rate = "5/day"
    confirmation_address: Rate = "5/day"
    confirmation_site: Rate = "100/hour"
    submit: Rate = "300/minute"
    change: Rate = "600/minute"
    streams: Annotated[int, Field(ge=1, le=1000)] = 20


class LdapSearch(Strict):
    """How a user's entry is found, where its DN does not follow from the login name (Active Directory).

    Attributes:
        base: DN below which entries are searched, at any depth.
        filter: with ``{name}``: ``(&(objectClass=user)(sAMAccountName={name}))``; exactly one entry must match.
        bind_dn: DN of the service account, or its user principal name.
        passfile: file with that account's password.
    """

    base: Annotated[str, Field(min_length=1)]
    filter: Annotated[str, Field(pattern=r"^\(.*\{name\}.*\)$")]
    bind_dn: Annotated[str, Field(min_length=1)]
    passfile: Path


class Ldap(Strict):
    """Login by a directory: a bind as the user, whose DN follows from the name or is searched first.

    Attributes:
        url: ``ldaps://HOST``; ``ldap://`` is upgraded by StartTLS.
        user_dn: with ``{name}``: ``uid={name},ou=people,dc=example,dc=org``.
        search: how the DN is found otherwise.
    """

    url: Annotated[str, Field(pattern=r"^ldaps?://[^\s/]+$")]
    user_dn: Annotated[str, Field(pattern=r"\{name\}")] | None = None
    search: LdapSearch | None = None
    ca: Path | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.user_dn is None) == (self.search is None):
            raise ValueError("exactly one of user_dn and search is needed")
        return self


class Jump(Strict):
    """The ssh gateway as users reach it.

    Attributes:
        host_key: its public host key, as known_hosts has it.
        domain: of the cluster's services, by which the gateway finds workbenches.
    """

    host: str
    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: str = "ava"
    host_key: str
    domain: str = "cluster.local"


class Idle(Strict):
    """When idle workbenches are stopped.

    Attributes:
        hours: after so many since somebody was last seen at work.
        warn_hours: hours before the stop at which the user is notified.
        cpu_cores, gpu_percent: who uses so much is at work.
    """

    hours: Annotated[float, Field(gt=0, le=8760)]
    warn_hours: Annotated[float, Field(gt=0, le=8760)] = 1.0
    cpu_cores: Annotated[float, Field(gt=0, le=64)] = 0.05
    gpu_percent: Annotated[float, Field(gt=0, le=100)] = 5.0

    @model_validator(mode="after")
    def _in_order(self) -> Idle:
        if self.warn_hours >= self.hours:
            raise ValueError(f"warn_hours: {self.warn_hours:g}; wanted: less than hours, {self.hours:g}")
        return self


class Workbenches(Strict):
    """How users get into workbenches.

    Attributes:
        below: each workbench has the origin ``https://ID.BELOW``.
        site: URL of this interface, where users are logged in.
        gate_secret, jump_secret: files with what the gate and the ssh gateway show on the internal port.
        jump: None: there is no ssh gateway.
        idle: None: they are stopped by their users alone. The operator's settings say the same.
        disks: whether they may have disks of nodes: the cluster has the storage class.
    """

    below: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
    site: Annotated[str, Field(pattern=r"^https://[^\s/]+$")]
    gate_secret: Path
    jump_secret: Path | None = None
    jump: Jump | None = None
    disks: bool = False
    idle: Idle | None = None


class Enough(Strict):
    """Whom a claim lets in at once: one of the claim's values is one of these; anybody else waits for an administrator."""

    claim: Annotated[str, Field(min_length=1, max_length=200)]
    values: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]


class Oidc(Strict):
    """Login at an OpenID Connect provider: the code flow with PKCE.

    Attributes:
        issuer: as the provider calls itself; https but for this machine.
        client_id, secret_file: who AVA is there.
        client_auth: how the secret is sent, by HTTP basic authentication or in the form.
        address: AVA's own, ``https://HOST``; the provider sends people back to ADDRESS/api/v1/oidc/callback.
        name_claim: the claim by which a new account is called.
        enough: whose account needs no approval; None: each needs an administrator's.
        ca: certificates of the provider's authority; None: those of the system.
    """

    issuer: Annotated[
        str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)(:|/|$))[^\s?#]*$", max_length=500)
    ]
    client_id: Annotated[str, Field(min_length=1, max_length=255)]
    secret_file: Path
    client_auth: Literal["basic", "post"] = "basic"
    address: Annotated[str, Field(pattern=r"^https?://[^\s/]+$")]
    scopes: Annotated[tuple[str, ...], Field(min_length=1)] = ("openid", "profile", "email")
    name_claim: Annotated[str, Field(min_length=1, max_length=200)] = "preferred_username"
    enough: Enough | None = None
    ca: Path | None = None


class EmailConfirmation(Strict):
    """The site sends mail (the operator does), so users confirm their addresses.

    Attributes:
        address: AVA's own, ``https://HOST``, which links in mails begin with.
    """

    address: Annotated[str, Field(pattern=r"^https?://[^\s/]+$")]


class UserRegistry(Strict):
    """The site's registry as users push to it.

    Attributes:
        host: HOST:PORT that users push to; also the service that its tokens are for.
        pulled: HOST:PORT under which nodes pull the same images; one of ``registries``.
        space: HOST:PORT of what tells how much users have there; it is shown the same certificate as ``pulled``.
        key, certificate: what its tokens are signed with, and the certificate that the registry trusts.
        issuer: as the registry knows it.
    """

    host: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?:[0-9]{1,5}$")]
    pulled: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$")]
    space: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?:[0-9]{1,5}$")]
    key: Path
    certificate: Path
    issuer: str = "ava"


class Config(Strict):
    """All settings.

    Attributes:
        listen: address and port of the interface.
        internal: address and port of health and metrics; not for users.
        sealing_key: file with a Fernet key; deploy keys and cursors are sealed with it. The same on every replica.
        trusted_proxies: networks whose X-Forwarded-For is believed.
        session_hours, token_days: until a login ends, and a token at most.
        login_days: where there is ldap or oidc, sessions, tokens and ssh keys are refused so many days after their owner's last
            login, until the next one, because an account may have been locked there; 0: they are not bound to logins.
        prometheus: servers that are asked what runs use; the first that answers is believed.
        images: the images that the site offers, by the name that users write; a row needs only ``image`` where the catalogue
            knows the rest.
        git: whether there are servers that code may be cloned from.
        snapshots: whether data sets may be snapshots of block images: nodes mount some.
        nfs_servers: from which data sets may be read; empty: from none.
        hdfs_stores: HDFS from which data sets may be read, by the folder of the cache where each is seen.
        data_set_quota: bytes of a new data set for which its owner names none; None: no limit.
        owner_quota: bytes that all data sets of one owner may have together by their limits; None: no limit.
        services_domain: services have host names below it; empty: they have no addresses.
        registries: by ``HOST[:PORT]``; asked what an image runs by itself.
        user_registry: where users push images; None: they cannot.
        registration: whether people may get an account of their own (an administrator still approves each).
        registration_form: whether they may by the form, which proves nothing, also where there is ldap or oidc.
        email_confirmation: None: the site sends no mail.
        workbenches: None: there is no access to them.
    """

    listen: Address = "127.0.0.1:8443"
    internal: Address = "127.0.0.1:9443"
    database: DatabaseUrl = DatabaseUrl()
    sealing_key: Path
    tls: Tls | None = None
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    clusters: dict[str, Cluster] = Field(default_factory=lambda: {"default": Cluster()})
    log_stores: tuple[LogStore, ...] = ()
    log_secrets: tuple[Expression, ...] = ()
    prometheus: tuple[LogStore, ...] = ()
    limits: Limits = Limits()
    images: dict[Name, Offered] = Field(default_factory=dict)
    git: bool = True
    snapshots: bool = False
    nfs_servers: tuple[Server, ...] = ()
    hdfs_stores: tuple[Image, ...] = ()
    data_set_quota: Annotated[int, Field(ge=2**20, le=2**60)] | None = None
    owner_quota: Annotated[int, Field(ge=2**20, le=2**60)] | None = None
    registries: dict[str, Registry] = Field(default_factory=dict)
    user_registry: UserRegistry | None = None
    services_domain: Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$")] = ""
    session_hours: Annotated[int, Field(ge=1, le=24 * 31)] = 12
    token_days: Annotated[int, Field(ge=1, le=3660)] = 366
    login_days: Annotated[int, Field(ge=0, le=3660)] = 30
    registration: bool = True
    registration_form: bool = False
    ldap: Ldap | None = None
    oidc: Oidc | None = None
    email_confirmation: EmailConfirmation | None = None
    workbenches: Workbenches | None = None

    @property
    def form_open(self) -> bool:
        """Whether people may register by the form."""
        return self.registration and (self.registration_form or (self.ldap is None and self.oidc is None))

    @model_validator(mode="after")
    def _every_data_set_has_a_limit(self) -> Self:
        if self.owner_quota is not None and self.data_set_quota is None:
            raise ValueError(
                "owner_quota needs data_set_quota: a data set without a limit counts for nothing"
            )
        return self

    @field_validator("images", mode="before")
    @classmethod
    def _whole(cls, rows: Any) -> Any:
        return completed(rows) if isinstance(rows, dict) else rows
