"""Rules over what the site uses from outside: time, packages, alert receivers, the ssh login."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from avadm.findings import Finding
from avadm.site import openpgp
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9a-fA-F:]+:[0-9a-fA-F:]*")
_PROXY = re.compile(r"http://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:\d{1,5})?/?")
_PAST = re.compile(r"\.?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_SOURCE = re.compile(r"deb(-src)?\s+(\[[^\]]*\]\s+)?\S+\s+\S+.*")


def time(draft: Draft) -> Iterator[Finding]:
    """Clocks have a source, and a number of sources in which a false one shows."""
    if not draft.ok("time", "servers"):
        return
    servers = draft.site.time.servers
    path: KeyPath = ("time", "servers")
    for i, server in enumerate(servers):
        if not _HOST.fullmatch(server):
            yield draft.finding("time-server-name", (*path, i), server, "a host name or an address")
    yield from draft.twice("time-server", (((*path, i), s, None) for i, s in enumerate(servers)))
    if len(servers) == 2:
        yield draft.finding("time-two-servers", path, ", ".join(servers), "1, 3 or more")
    if not servers and draft.whole("roles") and not draft.has("mon", "master"):
        yield draft.finding("time-no-source", path, "none", "time.servers")


def urls(draft: Draft) -> Iterator[Finding]:
    """Addresses of services are whole URLs without a password."""
    site = draft.site
    named: list[tuple[KeyPath, str | None]] = [
        (("packages", "proxy"), site.packages.proxy),
        (("components", "monitoring", "webhook_url"), site.components.monitoring.webhook_url),
        *(
            (("components", "monitoring", "existing", i), u)
            for i, u in enumerate(site.components.monitoring.existing)
        ),
    ]
    for path, url in named:
        if url is None or not draft.ok(*path):
            continue
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url)
            _ = parts.port  # raises where it is no number
        except ValueError:
            good, parts = False, None
        if not good:
            yield draft.finding("url-syntax-service", path, url, "http://HOST:PORT or https://HOST:PORT")
        elif parts and parts.password:
            yield draft.finding("url-password-proxy", path, f"…@{parts.hostname}", "a URL without a password")


def internet_proxy(draft: Draft) -> Iterator[Finding]:
    """The proxy to the internet and its exceptions are what docker, apt, Go, Python, npm and Maven all understand."""
    packages = draft.site.packages
    url, path = packages.internet_proxy, ("packages", "internet_proxy")
    if url is not None and draft.ok(*path) and "@" in url:
        yield draft.finding("url-password", path, f"…@{url.rpartition('@')[2]}", "http://HOST:PORT")
    elif url is not None and draft.ok(*path) and not _PROXY.fullmatch(url):
        yield draft.finding("url-syntax-proxy", path, url, "http://HOST:PORT")
    path = ("packages", "no_proxy")
    for i, entry in enumerate(packages.no_proxy if draft.ok(*path) else []):
        if not _PAST.fullmatch(entry):
            yield draft.finding(
                "no-proxy-entry-syntax",
                (*path, i),
                entry,
                "a host name, a domain such as .example.org, or an address",
                remedy="Write each address by itself: not all versions of docker know networks."
                if "/" in entry
                else "Write one name or address in each entry, without port or scheme.",
            )
    if packages.no_proxy and not url:
        yield draft.finding("no-proxy-entry", path, ", ".join(packages.no_proxy), "packages.internet_proxy")


def package_sources(draft: Draft) -> Iterator[Finding]:
    """Lines of sources.list look like such."""
    sources = draft.site.packages.sources
    if sources is None or not draft.ok("packages", "sources"):
        return
    path: KeyPath = ("packages", "sources")
    if not sources:
        yield draft.finding("package-sources", path, "an empty list", "lines of sources.list")
    for i, line in enumerate(sources):
        if not _SOURCE.fullmatch(line.strip()):
            yield draft.finding("package-sources-line", (*path, i), line, "deb URL SUITE COMPONENTS…")


def package_keys(draft: Draft) -> Iterator[Finding]:
    """Each key of a package source is a public one, and whole."""
    if not draft.ok("packages", "keys"):
        return
    for name, text in draft.site.packages.keys.items():
        try:
            openpgp.binary(text)
        except ValueError as error:
            yield draft.finding(
                "package-key",
                ("packages", "keys", name),
                str(error),
                f"{openpgp.BEGIN} …",
                remedy="Make a new key and keep it to yourself: this one is known now."
                if "PRIVATE KEY" in text
                else "Copy the whole key as its makers publish it, indented, after a `|`.",
            )


def login(draft: Draft) -> Iterator[Finding]:
    """The ssh login is a name, and its files have one."""
    ssh = draft.site.ssh
    if draft.ok("ssh", "user") and not re.fullmatch(r"[a-z_][a-z0-9_.-]{0,31}", ssh.user):
        yield draft.finding("ssh-user", ("ssh", "user"), ssh.user, "such as root or ubuntu")
    for key in ("key", "known_hosts"):
        value = getattr(ssh, key)
        # ssh would read a space or a quote in its option as the end of the file's name.
        if draft.ok("ssh", key) and (not value or re.search(r"[\s\"'\x00]", value)):
            yield draft.finding(
                "ssh-file",
                ("ssh", key),
                value,
                "a path without spaces or quotes",
                remedy="Name the file that holds the key; make a new key, since this one is known now."
                if "PRIVATE KEY" in value
                else "Rename the file.",
            )


RULES = [time, urls, internet_proxy, package_sources, package_keys, login]
