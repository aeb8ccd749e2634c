"""Tells the API which workbenches have ssh sessions through this gateway, so that none of them counts as idle.

``sessions.py URL SECRET-FILE``. Standard library alone, as keys.py. A session is a connection of this pod to port 22 of a
workbench's Service; whose address that is the cluster's DNS tells, by the Service's name.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path

EVERY = 30.0
"""Seconds between two looks."""
SECONDS = 8
ESTABLISHED, PORT = "01", 22
PREFIX = "wb-"
"""What the names of workbenches' Services begin with (domain/bench.py)."""
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def peers(table: str) -> set[str]:
    """Return the addresses to whose port 22 connections are open, from the text of /proc/net/tcp or tcp6."""
    found = set()
    for line in table.split("\n")[1:]:
        words = line.split()
        if len(words) < 4 or words[3] != ESTABLISHED:
            continue
        address, _, port = words[2].partition(":")
        if int(port, 16) == PORT:
            found.add(_dotted(address))
    return found


def _dotted(text: str) -> str:
    """Return an address of the kernel's table, words of four bytes in the machine's order; IPv4 within IPv6 as IPv4."""
    raw = b"".join(int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    if len(raw) == 16 and raw[:12] == b"\0" * 10 + b"\xff\xff":
        raw = raw[12:]
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)


def workbenches(addresses: Iterable[str], name_of: Callable[[str], str]) -> list[str]:
    """Return the ids of the workbenches at some addresses; OSError where a name cannot be asked for now."""
    names = (name_of(address).partition(".")[0] for address in addresses)
    return sorted({name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)})


def name_of(address: str) -> str:
    """Return the name of an address; empty for one that has none."""
    try:
        return socket.gethostbyaddr(address)[0]
    except socket.herror:
        return ""


def tell(url: str, secret: str, definitions: list[str]) -> None:
    """Tell the API; OSError where it does not take it."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"definitions": definitions}).encode()
    request = urllib.request.Request(f"{url}/door/sessions", body, headers)  # noqa: S310 - the gateway's own settings
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=SECONDS):
        pass


def main(argv: list[str]) -> int:
    """Look and tell for ever. What cannot be sent is dropped: without it no workbench is taken for idle."""
    url, file = argv
    while True:
        try:
            addresses = {one for table in TABLES if table.exists() for one in peers(table.read_text("ascii"))}
            secret = Path(file).read_text("ascii").strip()
            tell(url, secret, workbenches(addresses, name_of))
        except Exception as error:  # whatever it is, the next look may see and tell
            print(f"ava: ssh sessions cannot be reported: {error}", file=sys.stderr, flush=True)
        time.sleep(EVERY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
