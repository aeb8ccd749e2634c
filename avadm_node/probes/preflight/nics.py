"""The network interfaces of addresses."""

from __future__ import absolute_import

import socket
import struct

from .system import slurp


def number(text):
    return int(text) if text and text.lstrip("-").isdigit() else None


def quad(value):
    return struct.unpack("!I", socket.inet_aton(value))[0]


def nics(addresses):
    """The interface of each address: name, prefix length, MAC, MTU, speed in Mbit/s (null: not reported), duplex."""
    links = []
    for line in open("/proc/net/route").read().splitlines()[1:]:
        name, target, gateway, _, _, _, _, mask = line.split()[:8]
        if int(gateway, 16) == 0:
            target, mask = (struct.unpack("<I", struct.pack("!I", int(v, 16)))[0] for v in (target, mask))
            links.append((mask, target, name))
    found = {}
    for address in addresses:
        for mask, target, name in sorted(links, reverse=True):
            if quad(address) & mask == target:
                base = "/sys/class/net/%s/" % name
                speed = number(slurp(base + "speed"))
                found[address] = {
                    "name": name,
                    "prefix": bin(mask).count("1"),
                    "mac": slurp(base + "address"),
                    "mtu": number(slurp(base + "mtu")),
                    "speed": speed if speed and speed > 0 else None,
                    "duplex": slurp(base + "duplex"),
                }
                break
    return found
