"""Programs that listen on ports."""

from __future__ import absolute_import

import glob
import os

from .system import read


def listening(ports):
    """Port to the names of the programs that listen on it, for these TCP ports."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            for line in read(table).splitlines()[1:]:
                words = line.split()
                address, _, port = words[1].rpartition(":")
                port = int(port, 16)
                # A node's own name service on loopback (127.0.0.53) is in no one's way.
                if words[3] == "0A" and port in ports and not (port == 53 and address.endswith("7F")):
                    sockets["socket:[%s]" % words[9]] = port
    found = dict((str(port), []) for port in sockets.values())
    for link in glob.glob("/proc/[0-9]*/fd/*") if sockets else []:
        try:
            port = sockets.get(os.readlink(link))
            if port is not None:
                found[str(port)].append(read("/proc/%s/comm" % link.split("/")[2]).strip())
        except (OSError, IOError):
            pass  # the process ended meanwhile
    return dict((port, sorted(set(names))) for port, names in found.items())
