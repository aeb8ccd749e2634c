"""The way to the platform's API as an administrator: a token for an hour, made in one of its pods, ended with the verb.

The token's secret is made here and goes to the pod by standard input, to the API by TLS, and is kept nowhere.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ava.client import ApiError, Client
from ava.client.pinned_host import http_pinned
from avadm.catalogue import finding
from avadm.components.ava import component as platform
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.findings import Finding
from avadm.kube.ava_admin import lend
from avadm.pki.model import Authority
from avadm.pki.store import KeyStore
from avadm.remote.fleet import Fleet, Result
from avadm.site.load import SiteFile

_OLD = "invalid choice"
"""What a platform of before says to a verb that it does not know."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An open way: the client, and in whose name."""

    ava: Client
    name: str


@contextmanager
def administrator(file: SiteFile, fleet: Fleet, name: str | None) -> Iterator[Connection]:
    """Have a client of an administrator.

    Args:
        file: the site.
        fleet: ssh to its nodes.
        name: in whose name; None: the only administrator there is.

    Raises:
        AvadmError: there is no platform, no one of this name, or it cannot be reached.
    """
    site = file.site
    if site.components.ava is None:
        raise AvadmError(no_platform(str(file.path)))
    secret = secrets.token_urlsafe(32)
    lent = lend(fleet, site, secret, name)
    words = lent.stdout.split()
    if lent.rc or len(words) != 2:
        raise AvadmError(_not_lent(lent, secret), EXIT_COULD_NOT_RUN)
    address = site.network.ingress_vip or site.with_role("ingress")[0].address
    host = platform.host(site)
    try:
        own = site.components.ava.certificate
        # Empty: what this machine's system trusts.
        trusted = (own.ca or "") if own else KeyStore.open(file.path).trusted(Authority.KUBERNETES)
        http = http_pinned(host, str(address), trusted)
    except (ssl.SSLError, ValueError) as error:
        raise AvadmError(
            finding(
                "ava-authority",
                where=str(file.path),
                found=str(error) or "none",
                wanted="what `avadm apply` has made",
            ),
            EXIT_COULD_NOT_RUN,
        ) from error
    with Client(f"https://{host}", token=f"ava_{words[1]}.{secret}", http=http) as client:
        try:
            yield Connection(client, words[0])
        except ApiError as refused:
            raise AvadmError(findings(refused), EXIT_COULD_NOT_RUN) from refused
        finally:
            # Where it cannot be ended it ends by itself within the hour.
            with suppress(ApiError):
                client.logout()


def findings(refused: ApiError, where: str = "", what: str = "") -> list[Finding]:
    """Return what the platform says as findings; ``where``: what in the file has led to it, ``what``: what was to be done."""
    return [
        Finding(
            check=p.code,
            what=f"{what}: {p.what}" if what else p.what,
            where=where or p.where,
            found=p.found,
            wanted=p.wanted,
            remedy=p.remedy,
        )
        for p in refused.problems
    ]


def no_platform(where: str) -> Finding:
    """Return the error for a site without the platform."""
    return finding("no-ava", where=where, found="no components.ava", wanted="components.ava")


def _not_lent(lent: Result, secret: str) -> Finding:
    lines = [line for line in lent.stderr.splitlines() if not line.startswith("command terminated with")]
    text = (
        "\n".join(lines).replace(secret, "…").strip() or lent.stdout.strip()[:200] or f"exit status {lent.rc}"
    )
    old = _OLD in text
    return finding(
        "ava-not-entered-version" if old else "ava-not-entered",
        where=lent.node,
        found=text.splitlines()[-1],
        wanted="an administrator's token for an hour",
    )
