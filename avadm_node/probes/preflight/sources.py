"""Package sources and image registries."""

from __future__ import absolute_import

import re
import socket

from .system import at_once


def registries(wanted, proxy=None, proxied=()):
    """Image registry to ``ok`` or what is wrong: it answers over TLS, whether it lets anybody in or not.

    Args:
        wanted: name to the certificate of its authority; "" for one that the system knows.
        proxy: URL of the HTTP proxy to the internet, which is looked at as well.
        proxied: names of the registries that are reached by it.
    """
    import ssl

    try:
        from urllib.error import HTTPError
        from urllib.request import HTTPSHandler, ProxyHandler, build_opener
    except ImportError:
        from urllib2 import HTTPError, HTTPSHandler, ProxyHandler, build_opener

    def ask(name):
        if name == proxy:
            return answers_at(proxy)
        context = ssl.create_default_context(cadata=wanted[name] or None)
        through = {"https": proxy} if name in proxied else {}
        try:
            build_opener(ProxyHandler(through), HTTPSHandler(context=context)).open(
                "https://%s/v2/" % name, timeout=8
            )
        except HTTPError as error:
            return "ok" if error.code == 401 else "status %d" % error.code
        except Exception as error:
            return str(getattr(error, "reason", error)) or type(error).__name__
        return "ok"

    return at_once(ask, sorted(wanted) + ([proxy] if proxy else []))


def answers_at(url):
    """Return ``ok`` where something listens at the host and port of a URL, else what is wrong."""
    host, _colon, port = url.partition("://")[2].partition("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or 80)), 5).close()
    except (OSError, IOError) as error:
        return str(error)
    return "ok"


def package_sources(call, proxy, options):
    """Index of each package source to ``ok`` or what is wrong, asked the way apt would ask."""
    try:
        from urllib.request import ProxyHandler, Request, build_opener
    except ImportError:
        from urllib2 import ProxyHandler, Request, build_opener
    code, out, err = call("apt-get", "-q", "update", "--print-uris", *options)
    if code != 0:
        raise RuntimeError(err.strip()[-300:])
    if not proxy:
        reply = re.findall(r'^Acquire::(https?)::Proxy "([^"]+)"', call("apt-config", "dump")[1], re.M | re.I)
        proxies = dict((scheme.lower(), url) for scheme, url in reply if url.upper() != "DIRECT")
    else:
        proxies = {"http": proxy, "https": proxy}
    opener = build_opener(ProxyHandler(proxies))

    def ask(uri):
        wrong = ""
        for name in ("InRelease", "Release"):
            try:
                opener.open(Request(re.sub("InRelease$", name, uri)), timeout=8).read(1)
            except Exception as error:
                wrong = str(getattr(error, "reason", error)) or type(error).__name__
            else:
                return "ok"
        return wrong

    return at_once(ask, sorted(set(re.findall(r"^'(https?://\S+/InRelease)'", out, re.M))))
