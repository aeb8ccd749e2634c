#!/usr/bin/env python
"""Connections that stay open, as ssh and websockets are: serves them in a pod, opens them from outside.

Both ends say who they are and send back what they get. Python 2.7 and 3. Each command prints lines of JSON.
"""

from __future__ import print_function

import base64
import hashlib
import json
import os
import socket
import struct
import sys
import threading
import time

ME = {"node": os.environ.get("NODE", ""), "pod": os.environ.get("POD", "")}
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
TEXT, CLOSE = 1, 8


class StreamError(Exception):
    """The other end did not do what it should."""


class Stream(object):
    """A TCP connection; messages are lines.

    Args:
        link: the connected socket.
    """

    def __init__(self, link):
        self.link, self.rest = link, b""

    def take(self, size):
        while len(self.rest) < size:
            part = self.link.recv(65536)
            if not part:
                raise StreamError("the connection was closed")
            self.rest += part
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    def line(self):
        while b"\n" not in self.rest:
            part = self.link.recv(65536)
            if not part:
                raise StreamError("the connection was closed")
            self.rest += part
        found, _, self.rest = self.rest.partition(b"\n")
        return found.rstrip(b"\r")

    read = line

    def write(self, data):
        self.link.sendall(data + b"\n")

    def greet(self, host):
        """Nothing comes before the first message."""

    def welcome(self):
        """Nothing comes before the first message."""


class WebSocket(Stream):
    """The same by RFC 6455: text frames without fragments, the client's masked."""

    masked = False

    def greet(self, host):
        key = base64.b64encode(os.urandom(16))
        head = [
            b"GET /stream HTTP/1.1",
            b"Host: " + host.encode(),
            b"Upgrade: websocket",
            b"Connection: Upgrade",
        ]
        head += [b"Sec-WebSocket-Key: " + key, b"Sec-WebSocket-Version: 13", b"", b""]
        self.link.sendall(b"\r\n".join(head))
        status, fields = self.line(), self.fields()
        if b" 101 " not in status + b" ":
            raise StreamError("not upgraded: %s" % status.decode("latin-1")[:80])
        if fields.get(b"sec-websocket-accept") != accept(key):
            raise StreamError("the upgrade is another's")
        self.masked = True

    def welcome(self):
        self.line()
        key = self.fields()[b"sec-websocket-key"]
        head = [b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade"]
        self.link.sendall(b"\r\n".join(head + [b"Sec-WebSocket-Accept: " + accept(key), b"", b""]))

    def fields(self):
        found = {}
        while True:
            name, _, value = self.line().partition(b":")
            if not name:
                return found
            found[name.strip().lower()] = value.strip()

    def read(self):
        first, size = bytearray(self.take(2))
        masked, size = size & 128, size & 127
        if size > 125:
            size = struct.unpack(">H" if size == 126 else ">Q", self.take(2 if size == 126 else 8))[0]
        mask = bytearray(self.take(4)) if masked else None
        data = bytearray(self.take(size))
        if first & 15 == CLOSE:
            raise StreamError("the connection was closed")
        if mask:
            data = bytearray(b ^ mask[i % 4] for i, b in enumerate(data))
        return bytes(data)

    def write(self, data):
        size = len(data)
        head = bytearray([128 | TEXT, (128 if self.masked else 0) | (size if size < 126 else 126)])
        if size > 125:
            head += struct.pack(">H", size)
        data = bytearray(data)
        if self.masked:
            mask = bytearray(os.urandom(4))
            head += mask
            data = bytearray(b ^ mask[i % 4] for i, b in enumerate(data))
        self.link.sendall(bytes(head + data))


KINDS = {"tcp": Stream, "websocket": WebSocket}


def accept(key):
    return base64.b64encode(hashlib.sha1(key + GUID).digest())


def answer(link, kind):
    """Say who this is, then send back each message until the other end goes."""
    try:
        stream = KINDS[kind](link)
        stream.welcome()
        stream.write(json.dumps(ME).encode())
        while True:
            stream.write(stream.read())
    except (EnvironmentError, StreamError, KeyError, struct.error):
        pass
    finally:
        link.close()


def listen(kind, port):
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("", port))
    door.listen(128)
    while True:
        one = threading.Thread(target=answer, args=(door.accept()[0], kind))
        one.daemon = True
        one.start()


def serve(ports):
    """Serve each kind at its port, for ever."""
    for kind, port in ports.items():
        one = threading.Thread(target=listen, args=(kind, port))
        one.daemon = True
        one.start()
    while True:
        time.sleep(3600)


def session(job, timeout):
    """Open one connection, send messages, and tell how many came back as they were."""
    found = {
        "kind": job["kind"],
        "port": job["port"],
        "connected": False,
        "echoed": 0,
        "error": "",
        "pod": "",
    }
    begun = time.time()
    try:
        link = socket.create_connection((job["address"], job["port"]), timeout)
        found["connected"] = True
        try:
            stream = KINDS[job["kind"]](link)
            stream.greet(job.get("host", ""))
            found.update(json.loads(stream.read().decode()))
            for _ in range(job.get("messages", 3)):
                sent = base64.b64encode(os.urandom(job.get("bytes", 600)))
                stream.write(sent)
                if stream.read() != sent:
                    raise StreamError("another message came back")
                found["echoed"] += 1
                time.sleep(job.get("pause_s", 0))
        finally:
            link.close()
    except (EnvironmentError, StreamError, ValueError, struct.error) as e:
        found["error"] = str(e) or repr(e)
    found["seconds"] = round(time.time() - begun, 4)
    return found


def ask(jobs):
    """Open all connections one after another (``times`` each) and print what came of them."""
    done = [session(j, j.get("timeout", 5)) for j in jobs for _ in range(j.get("times", 1))]
    print(json.dumps(dict(ME, streams=done), sort_keys=True))


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](json.loads(sys.argv[2]))
