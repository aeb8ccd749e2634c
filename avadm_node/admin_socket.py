"""Questions to a ceph daemon by its admin socket."""

from __future__ import absolute_import

import json
import socket
import struct


def query(path, prefix, seconds):
    """Return what a daemon answers to a command: a length comes, then JSON.

    OSError, IOError, ValueError or struct.error where it does not, as when the daemon that left its socket is gone.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(seconds)
    try:
        link.connect(path)
        link.sendall(json.dumps({"prefix": prefix, "format": "json"}).encode() + b"\0")
        size, data = struct.unpack(">I", link.recv(4))[0], b""
        while len(data) < size:
            part = link.recv(size - len(data))
            if not part:
                raise IOError("the answer ends early")
            data += part
        return json.loads(data.decode("utf-8"))
    finally:
        link.close()
