# Runs on nodes: python 2.7 and 3.
"""A node's haproxy, by its socket: whether a server gets requests, and keeping them from it for a while.

Source: haproxy's management guide, "show servers state" (since 1.6) and "set server".
"""

from __future__ import absolute_import, division, print_function

import socket
import time

SOCKET = "/run/haproxy/admin.sock"
OP_STATE, ADMIN_STATE = 5, 6
RUNNING = 2
"""srv_op_state of a server that gets requests."""
FORCED = 0x01 | 0x08
"""Bits of srv_admin_state: put by hand into maintenance, or drained."""
DRAIN_S = 2.0
"""Seconds in which a server answers what it was asked, and gets nothing new."""
BACK_S = 10
"""Seconds in which its checks find a server well that is to come back; afterwards the checks alone decide."""
SECONDS = 10.0


def do(given, path=SOCKET, wait=time.sleep):
    """Keep requests from a server, or let them come again; ask which it is where ``want`` is None.

    Args:
        given: mapping with backend, server and want: ``away``, ``back`` or None.

    Returns:
        mapping with away, whether no request comes to it by hand (None where no haproxy runs, or it has no such server), and why
        haproxy refused, "" where it did not.
    """
    backend, server, want = given["backend"], given["server"], given["want"]
    why = ""
    try:
        if want == "away":
            why = _set(path, backend, server, "drain")
            wait(DRAIN_S)
            # Connections that are kept open would still ask it: they end here.
            why = why or _set(path, backend, server, "maint")
        elif want == "back":
            why = _set(path, backend, server, "ready")
            for _ in range(BACK_S):
                if why or (_states(path, backend, server) or [RUNNING])[0] == RUNNING:
                    break
                wait(1)
        found = _states(path, backend, server)
    except (IOError, OSError) as error:
        return {"away": None, "why": "haproxy cannot be asked: %s" % (error.strerror or error)}
    if found is None:
        return {"away": None, "why": why or "haproxy has no server %s/%s" % (backend, server)}
    return {"away": bool(found[1] & FORCED), "why": why}


def _states(path, backend, server):
    """Return a server's operational and administrative state; None where there is no such server."""
    for line in _ask(path, "show servers state %s" % backend).split("\n"):
        words = line.split()
        if len(words) > ADMIN_STATE and words[1] == backend and words[3] == server:
            return int(words[OP_STATE]), int(words[ADMIN_STATE])
    return None


def _set(path, backend, server, state):
    """Return what haproxy has against a state, "" where nothing."""
    return _ask(path, "set server %s/%s state %s" % (backend, server, state)).strip()


def _ask(path, command):
    """Return haproxy's reply to a command; it closes the connection after it."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(SECONDS)
    try:
        link.connect(path)
        link.sendall(command.encode("ascii") + b"\n")
        return link.makefile("rb").read().decode("utf-8", "replace")
    finally:
        link.close()
