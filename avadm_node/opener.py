"""Opening URLs without a proxy, with a certificate where a service wants one."""

from __future__ import absolute_import

import ssl
import sys

try:
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener
except ImportError:  # python 2.7
    from urllib2 import HTTPSHandler, ProxyHandler, build_opener


def opener_for(tls):
    """Return what opens URLs without a proxy; a certificate (ca, certificate, key) is shown where a service wants one."""
    handlers = [ProxyHandler({})]
    if tls:
        context = ssl.create_default_context(cafile=tls["ca"])
        context.load_cert_chain(tls["certificate"], tls["key"])
        # Python 2.7 knows no addresses in certificates; that authority signs no other.
        context.check_hostname = sys.version_info[0] > 2
        handlers.append(HTTPSHandler(context=context))
    return build_opener(*handlers)
