# Runs on nodes: python 2.7 and 3.
"""Questions over HTTP to a daemon of this site: without a proxy, with a client's certificate where it wants one.

Python 2.7 holds no address against the addresses in a certificate, so Ansible's own `uri` refuses each daemon there that is
asked by its address. That is done here.
"""

from __future__ import absolute_import, division, print_function

import re
import socket
import ssl
import sys

try:
    from http.client import HTTPSConnection
    from urllib.error import HTTPError
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener
except ImportError:  # python 2.7
    from httplib import HTTPSConnection
    from urllib2 import HTTPError, HTTPSHandler, ProxyHandler, build_opener

# What TLS calls it when a certificate is missing: the first of TLS 1.3, the others of 1.2, whose words are OpenSSL's.
MISSED = re.compile("alert (certificate required|bad certificate|handshake failure)", re.I)
ADDRESS = re.compile(r"^https://\d+\.\d+\.\d+\.\d+[:/]")


class Connection(HTTPSConnection):
    """Looks itself at the addresses in the certificate where its context looks at no name."""

    def connect(self):
        """Connect; CertificateError where the certificate is somebody else's."""
        HTTPSConnection.connect(self)
        if self._context.check_hostname:
            return
        shown = [value for _kind, value in self.sock.getpeercert().get("subjectAltName", ())]
        if self.host not in shown:
            self.close()
            raise ssl.CertificateError(
                "the certificate is of %s, not of %s" % (", ".join(shown) or "no host", self.host)
            )


class Handler(HTTPSHandler):
    """Opens such connections."""

    def __init__(self, context):
        HTTPSHandler.__init__(self, context=context)
        self.own = context

    def https_open(self, request):
        """Open one."""
        return self.do_open(Connection, request, context=self.own)


def opener_for(url, tls=None):
    """Return what opens a URL.

    Args:
        url: the URL.
        tls: files in PEM: `ca`, the daemon's authority, and perhaps `certificate` and `key`, which it is shown; None for plain
            HTTP, or an authority that the system trusts.
    """
    handlers = [ProxyHandler({})]
    if tls:
        context = ssl.create_default_context(cafile=tls["ca"])
        if tls.get("certificate"):
            context.load_cert_chain(tls["certificate"], tls["key"])
        context.check_hostname = sys.version_info[0] > 2 or not ADDRESS.match(url)
        handlers.append(Handler(context))
    return build_opener(*handlers)


def ask(url, tls=None, timeout=5):
    """Return status and text of the answer; -1 and why where there is none."""
    try:
        response = opener_for(url, tls).open(url, timeout=timeout)
        return response.getcode(), response.read().decode("utf-8", "replace")
    except HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except Exception as error:  # refused, timed out, somebody else's certificate: they have no common parent
        return -1, str(error) or repr(error)


def refuses(url, ca, timeout=3):
    """Return None if a daemon that the authority knows answers no one without a certificate, else what came instead."""
    host, _, port = url.split("/")[2].partition(":")
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = sys.version_info[0] > 2 or not ADDRESS.match(url)
    try:
        link = socket.create_connection((host, int(port or 443)), timeout)
        try:
            # With TLS 1.3 the refusal comes after the handshake; anyone who writes first may not get to read it.
            context.wrap_socket(link, server_hostname=host).recv(1)
        finally:
            link.close()
    except (socket.timeout, ssl.SSLWantReadError):
        return "it waits for the questions of who shows no certificate"
    except Exception as error:  # refused, reset, somebody else's certificate: they have no common parent
        if MISSED.search(str(error)):
            return None
        return str(error) or repr(error)
    return "it closed without a word"
