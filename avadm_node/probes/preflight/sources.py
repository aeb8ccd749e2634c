"""What a node asks others: names, time, packages, images."""

from __future__ import absolute_import

import re
import socket
import time

from .system import at_once


def lookup(function, *arguments):
    """Return what a look-up answers and the seconds that it took."""
    started = time.time()
    try:
        answer = function(*arguments)
    except (OSError, IOError):
        answer = []
    return {"answer": answer, "seconds": round(time.time() - started, 2)}


def resolution(names, address):
    """Name to its IPv4 addresses, and the address to its names, as this machine's resolver says."""
    result = {}
    for name in names:
        result[name] = lookup(
            lambda n: sorted(set(i[4][0] for i in socket.getaddrinfo(n, None, socket.AF_INET))), name
        )
    result[address] = lookup(
        lambda a: (lambda r: sorted(set([r[0]] + r[1])))(socket.gethostbyaddr(a)), address
    )
    return result


def time_sources(servers):
    """NTP server to ``ok`` or what is wrong with it, from one request each (RFC 5905, mode 3)."""
    return at_once(lambda server: time_source(server) or time_source(server) or "no answer", servers)


def time_source(server):
    """Return what one server says, None where it says nothing."""
    query = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    query.settimeout(1.5)
    try:
        query.sendto(b"\x23" + 47 * b"\0", (server, 123))
        answer = query.recv(512)
    except socket.timeout:
        return None
    finally:
        query.close()
    if len(answer) < 48 or ord(answer[:1]) & 7 != 4:
        return "no NTP answer"
    leap, stratum = ord(answer[:1]) >> 6, ord(answer[1:2])
    if leap == 3 or not 0 < stratum < 16:
        return "it says itself that it is not synchronised (stratum %d)" % stratum
    return "ok"


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
            return connects(proxy)
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


def connects(url):
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
