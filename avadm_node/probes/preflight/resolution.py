"""Names and addresses as the machine's resolver says."""

from __future__ import absolute_import

import socket
import time


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
