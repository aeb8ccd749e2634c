"""Services of the site that the platform, AVA, uses: who knows its people, and who tells them of their runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from avadm.components.objects.options import VaultName
from avadm.site.values import Model, Subnet, Whole

Port = Annotated[Whole, Field(ge=1, le=65535)]
Text = Annotated[str, Field(min_length=1, max_length=255)]


class Service(Model):
    """A service at some addresses; the platform's processes reach no others."""

    networks: list[Subnet] = Field(min_length=1)
    """Its addresses; one alone is written with /32."""
    ca: str = ""
    """Authority of its certificate, PEM, where that is not a public one."""


PEM = r"^\s*-----BEGIN CERTIFICATE-----"


class Certificate(Model):
    """A certificate of your own for https://HOST.DOMAIN, in place of one that the site's own authority signs."""

    chain: str = Field(pattern=PEM)
    """PEM: the server's certificate first, then those of the authorities between it and the root."""
    key: VaultName = "vault_ava_tls_key"
    """Variable of the vault with its private key, PEM without a password."""
    ca: str | None = Field(default=None, pattern=PEM)
    """Root of its authority, PEM, by which avadm itself verifies it; what this machine's system trusts where absent."""


class Enough(Model):
    """Whose accounts need no administrator's approval."""

    claim: Text
    """Claim of the ID token, such as groups."""
    values: list[Text] = Field(min_length=1)
    """One of them is enough."""


class Oidc(Service):
    """Login at an OpenID Connect provider (code flow with PKCE); AVA's address there is https://HOST/api/v1/oidc/callback."""

    issuer: str = Field(pattern=r"^https://[^\s?#]+$", max_length=500)
    """As the provider calls itself, by https."""
    client_id: Text
    """Who AVA is there."""
    secret: VaultName = "vault_ava_oidc_secret"  # noqa: S105  a variable's name
    """Variable of the vault with the client's secret, which the provider gives you."""
    client_auth: Literal["basic", "post"] = "basic"
    """How the secret is sent: HTTP basic authentication, or in the form."""
    name_claim: Text = "preferred_username"
    """Claim by which a new account is called."""
    enough: Enough | None = None
    """Whose accounts need no approval; each needs an administrator's where absent."""


class LdapSearch(Model):
    """How a user's entry is found where its DN does not follow from the login name, as in Active Directory."""

    base: Text
    """DN below which entries are searched, at any depth: `ou=people,dc=example,dc=org`."""
    filter: str = Field(default="(sAMAccountName={name})", pattern=r"^\(.*\{name\}.*\)$", max_length=1000)
    """Filter with {name}; exactly one entry must match, otherwise the login is refused."""
    bind_dn: Text
    """DN of the service account that searches; of Active Directory also its user principal name."""
    password: VaultName = "vault_ava_ldap_password"  # noqa: S105  a variable's name
    """Variable of the vault with that account's password."""


class Ldap(Service):
    """Login by a directory: the platform binds as the user, by `user_dn` or after a `search`; an account in AVA is needed."""

    url: str = Field(pattern=r"^ldaps?://[^\s/:]+(:[0-9]{1,5})?$")
    """Its address; `ldap://` is upgraded by StartTLS, which is required."""
    user_dn: str | None = Field(default=None, pattern=r"^[^\s].*\{name\}")
    """Name in the directory, with {name}: `uid={name},ou=people,dc=example,dc=org`."""
    search: LdapSearch | None = None
    """In place of `user_dn`: how the entry is found."""


class Webhook(Service):
    """Where notices of runs are posted as JSON, signed by HMAC-SHA256 in X-AVA-Signature."""

    url: str = Field(pattern=r"^https?://[^\s]+$")
    """Its address."""
    secret: VaultName = "vault_ava_webhook_secret"  # noqa: S105  a variable's name
    """Variable of the vault with what they are signed with; made where it is missing, for the receiver."""


class Mail(Service):
    """The SMTP server that takes notices of runs to their owners."""

    host: Text
    """Its name, or its address."""
    port: Port = 587
    """TCP port."""
    sender: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    """Whom the mails come from."""
    tls: Literal["none", "starttls", "tls"] = "starttls"
    """How it is spoken to; a password is never sent without."""
    user: str = ""
    """SMTP user name; leave empty for no authentication."""
    password: VaultName = "vault_ava_mail_password"  # noqa: S105  a variable's name
    """Variable of the vault with that user's password."""


class Notices(Model):
    """How users hear of the end of their runs."""

    webhook: Webhook | None = None
    """A program of the site's."""
    mail: Mail | None = None
    """The site's mail server."""
