"""What the doctor asks of DNS."""

from __future__ import absolute_import

import socket
import struct


def dns(params):
    """Address of a DNS server to what it answers for the API's own name: addresses, or what went wrong."""
    question = b"".join(
        struct.pack("B", len(p)) + p for p in (b"kubernetes", b"default", b"svc", b"cluster", b"local")
    )
    packet = struct.pack("!HHHHHH", 4711, 256, 1, 0, 0, 0) + question + b"\0" + struct.pack("!HH", 1, 1)
    found = {}
    for address in params["dns"]:
        for _ in range(2):
            link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            link.settimeout(5)
            try:
                link.sendto(packet, (address, 53))
                answer = bytearray(link.recv(4096))
                code, count = answer[3] & 15, answer[6] * 256 + answer[7]
                found[address] = "ok" if code == 0 and count else "code %d, %d answers" % (code, count)
                break
            except (OSError, IOError) as error:
                found[address] = str(error)
            finally:
                link.close()
    return found
