"""Rules over services of the site that the platform uses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from avadm.findings import Finding
from avadm.pki import certs, foreign
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

CERTIFICATE: KeyPath = ("components", "ava", "certificate")
SOON = timedelta(days=30)
LDAP: KeyPath = ("components", "ava", "ldap")
MAIL: KeyPath = ("components", "ava", "notices", "mail")


def mailed(draft: Draft) -> Iterator[Finding]:
    """A password is not sent in plain words."""
    knobs = draft.site.components.ava
    mail = knobs.notices.mail if knobs and knobs.notices and draft.ok("components", "ava") else None
    if mail is None or not mail.user or mail.tls != "none":
        return
    yield draft.finding("ava-mail-tls", (*MAIL, "tls"), "none, with a user", "starttls or tls, or no user")


def directory(draft: Draft) -> Iterator[Finding]:
    """A directory is asked in one way."""
    knobs = draft.site.components.ava
    if knobs is None or knobs.ldap is None or not draft.ok("components", "ava", "ldap"):
        return
    given = [name for name in ("user_dn", "search") if getattr(knobs.ldap, name) is not None]
    if len(given) != 1:
        yield draft.finding(
            "ava-ldap-way",
            LDAP,
            " and ".join(given) or "neither user_dn nor search",
            "exactly one of user_dn and search",
        )


def certificate(draft: Draft) -> Iterator[Finding]:
    """The site's own certificate can be read, is for the platform's name, and has not ended."""
    knobs = draft.site.components.ava
    if (
        knobs is None
        or knobs.certificate is None
        or not draft.ok("components", "ava")
        or not draft.ok("network", "domain")
    ):
        return
    path, host = (*CERTIFICATE, "chain"), f"{knobs.host}.{draft.site.network.domain}"
    for key, text in (("chain", knobs.certificate.chain), ("ca", knobs.certificate.ca)):
        try:
            found = foreign.read(text) if text else []
        except ValueError as error:
            yield draft.finding(
                "ava-certificate-invalid",
                (*CERTIFICATE, key),
                " ".join(str(error).split())[:200],
                "certificates in PEM",
            )
            continue
        if key == "ca" or not found:
            continue
        if not foreign.is_for(found[0], host):
            yield draft.finding(
                "ava-certificate",
                path,
                ", ".join(foreign.names(found[0]))[:200] or "no names",
                f"{host} or *.{host.partition('.')[2]} among its alternative names",
                node=host,
            )
        left = foreign.ends(found[0]) - certs.now()
        if left < SOON:
            yield draft.finding(
                "ava-certificate-ended" if left.days < 0 else "ava-certificate-ends",
                path,
                f"{foreign.ends(found[0]):%Y-%m-%d}",
                "a certificate that is valid for a month and more",
                node=host,
            )


RULES = [mailed, directory, certificate]
