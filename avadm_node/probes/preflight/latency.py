"""Round trips to peers.

Echo requests are made here and not by ping(8): minimal machines lack it, and one socket asks all peers at once.
"""

from __future__ import absolute_import

import errno
import os
import select
import socket
import struct
import time

from .nics import nics
from .system import at_once

WARM, ROUNDS = 1, 10  # echo requests to each peer; the first ones pay for ARP and are not counted
CONNECTS = 3  # TCP connections to a peer that answers no echo request
PAUSE = 0.01  # seconds between two rounds
FULL = 3  # times that a full frame is tried: one lost packet proves nothing
PATIENCE = 0.5  # seconds that each of them may take
ECHO_HEADERS = 28  # bytes of IPv4 and ICMP headers
IP_MTU_DISCOVER, IP_PMTUDISC_PROBE = 10, 3  # linux/in.h: do not fragment, whatever the known path MTU
SOL_RAW, ICMP_FILTER = 255, 1  # linux/icmp.h


now = getattr(time, "perf_counter", time.time)


def echo(ident, sequence, size):
    """Return an ICMP echo request of `size` bytes on the wire, IPv4 header included."""
    payload = b"a" * max(0, size - ECHO_HEADERS)
    head = struct.pack("!BBHHH", 8, 0, 0, ident, sequence)
    data = bytearray(head + payload + (b"\0" if len(payload) % 2 else b""))
    total = sum(data[0::2]) * 256 + sum(data[1::2])
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!BBHHH", 8, 0, ~total & 0xFFFF, ident, sequence) + payload


class Pinger(object):
    """Echo requests to many peers through one socket: small ones timed, one of full size that must not be cut."""

    def __init__(self, peers):
        self.peers = peers
        self.ident = struct.unpack("!H", os.urandom(2))[0]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
        # Echo replies alone: other nodes' requests would only wake us up.
        self.socket.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("I", 0xFFFFFFFF & ~1))
        self.socket.setblocking(False)
        self.sent = {}
        self.times = [[] for _ in peers]
        self.full = [None] * len(peers)

    def send(self, sequence, index, size):
        self.sent[sequence] = (index, now())
        try:
            self.socket.sendto(echo(self.ident, sequence, size), (self.peers[index]["address"], 0))
        except (OSError, IOError) as error:
            if error.errno == errno.EMSGSIZE:
                self.full[index] = "own-mtu"

    def receive(self, until, sequence=None):
        """Take answers until a time, or until that of one request came.

        What has come is taken even after that time: a busy machine may have kept us from looking.
        """
        while self.sent and (sequence is None or sequence in self.sent):
            if not select.select([self.socket], [], [], max(0.0, until - now()))[0]:
                return
            data, sender = self.socket.recvfrom(65535)
            came = now()
            header = (struct.unpack("!B", data[:1])[0] & 15) * 4
            kind, _, _, ident, answered = struct.unpack("!BBHHH", data[header : header + 8])
            index, started = self.sent.get(answered, (None, 0.0))
            if kind != 0 or ident != self.ident or index is None:
                continue
            if sender[0] != self.peers[index]["address"]:
                continue
            del self.sent[answered]
            if answered < len(self.peers):
                self.full[index] = "passed"
            elif answered >= len(self.peers) * (1 + WARM):
                self.times[index].append((came - started) * 1000)

    def run(self):
        """Ask all; a request waits for its answer a little, so that no answer waits for our own sending."""
        count = len(self.peers)
        for turn in range(1, 1 + WARM + ROUNDS):
            for index in range(count):
                self.send(turn * count + index, index, 64)
                self.receive(now() + 0.002, turn * count + index)
            self.receive(now() + PAUSE)
        for _ in range(FULL):
            # Each has its answer taken before the next: many full frames would overflow the socket's buffer.
            for index in self.untold():
                self.send(index, index, self.peers[index]["size"])
                self.receive(now() + 0.002, index)
            if self.untold():
                self.receive(now() + PATIENCE)
        self.socket.close()

    def untold(self):
        """Return the peers that answer, but of which no full frame came back yet."""
        return [i for i, report in enumerate(self.full) if report is None and self.times[i]]


def connects(address, port):
    """Milliseconds of TCP connections, for a network that does not let echo requests through."""
    times = []
    for _ in range(CONNECTS):
        started = now()
        try:
            socket.create_connection((address, port), 2).close()
        except (OSError, IOError):
            break
        times.append((now() - started) * 1000)
    return times


def peers(wanted, port):
    """Per peer: how it was asked, how often, the round trips in ms, and whether a full frame passed."""
    for peer in wanted:
        if not peer["size"]:
            peer["size"] = (nics([peer["own"]]).get(peer["own"]) or {}).get("mtu") or 1500
    pinger = None
    try:
        pinger = Pinger(wanted)
        pinger.run()
    except (OSError, IOError) as error:
        if error.errno not in (errno.EPERM, errno.EACCES):
            raise
    silent = [p["address"] for i, p in enumerate(wanted) if pinger is None or not pinger.times[i]]
    tcp = at_once(lambda address: connects(address, port), silent)
    found = []
    for index, peer in enumerate(wanted):
        times, by, sent, full = tcp.get(peer["address"]), "tcp", CONNECTS, None
        if pinger is not None and not times:
            times, by, sent, full = pinger.times[index], "icmp", ROUNDS, pinger.full[index]
        found.append(
            {
                "network": peer["network"],
                "name": peer["name"],
                "by": by,
                "sent": sent,
                "ms": [round(t, 3) for t in sorted(times)],
                "size": peer["size"],
                "full": full or ("unknown" if by == "tcp" else "lost"),
            }
        )
    return found
