#!/usr/bin/env python3
"""What the packet filter costs: the same traffic to a node without it and with it, in turns, between two namespaces.

Frames of 1500 bytes, not put together by the sender, so that each is judged by itself as on a real network. Needs root, nft
and iperf3. Prints a table and stores it in runs/bench; --document writes it into evidence/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from avadm.components.packet_filter.variables import texts
from avadm.site.load import load

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "evidence/performance.md"
MARK = "<!-- packet filter: written by bench/packet_filter.py --document -->"
SITE, NODE, PEER = load(ROOT / "inventory/dgx-256.yml").site, "dgx100", "dgx101"
"""A GPU node of a full site has the most rules, and sets of 256 addresses."""
PORT, ROUNDS, SECONDS = 30000, 9, 1.0
UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
KINDS = {
    "stream": "TCP, one stream: CPU ms per Gbit, both ends",
    "packets": "UDP of 64 bytes: CPU µs per packet",
    "connections": "new TCP connections: CPU µs of the client each",
}
"""What is measured is work, which other jobs of the machine disturb less than speed."""


def sh(line: str) -> str:
    """Run a line of shell; it must succeed."""
    done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{line}: {done.stderr or done.stdout}")
    return done.stdout


def iperf(address: str, *words: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return what iperf3 says of one run: of its traffic, and of the CPU time that it took, percent of one core."""
    report = sh(f"ip netns exec peer iperf3 -J -c {address} -p {PORT} -t {SECONDS:g} {' '.join(words)}")
    found: dict[str, dict[str, float]] = json.loads(report)["end"]
    return found.get("sum") or found["sum_received"], found["cpu_utilization_percent"]


def stream(address: str) -> float:
    """Return milliseconds of CPU for a Gbit."""
    report, cpu = iperf(address)
    return (cpu["host_total"] + cpu["remote_total"]) / 100 * 1000 / (report["bits_per_second"] / 1e9)


def packets(address: str) -> float:
    """Return microseconds of the sender's CPU for a packet: a send ends when the packet lies with its receiver."""
    report, cpu = iperf(address, "-u", "-b", "0", "-l", "64")
    return cpu["host_total"] / 100 * report["seconds"] / report["packets"] * 1e6


def connections(address: str) -> float:
    """Return microseconds of the client's CPU for a connection that is opened and closed."""
    code = (
        # Reset at the end: what waits after a close would use up the ports, and looking for a free one is what would be measured.
        "import os, socket, struct, sys, time\n"
        "reset = struct.pack('ii', 1, 0)\n"
        "until, n, begun = time.time() + float(sys.argv[3]), 0, os.times()\n"
        "while time.time() < until:\n"
        "    link = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset); link.close(); n += 1\n"
        "now = os.times(); print((now.user + now.system - begun.user - begun.system) / n * 1e6)"
    )
    argv = ["ip", "netns", "exec", "peer", sys.executable, "-c", code, address, str(PORT + 1), str(SECONDS)]
    return float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def serve() -> None:
    """Take connections and close them."""
    import socket

    door = socket.create_server(("", PORT + 1), backlog=512)
    while True:
        door.accept()[0].close()


def measure(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Return for each kind of traffic the figures without and with the filter; runs in namespaces of its own."""
    own, peer = str(SITE.node(NODE).address), str(SITE.node(PEER).address)
    sh("mount -t tmpfs none /run; mkdir /run/netns; ip link set lo up; ip netns add peer")
    sh("ip link add wire type veth peer name wire netns peer")
    for where, address in (("", own), ("-n peer", peer)):
        sh(f"ip {where} address add {address}/8 dev wire; ip {where} link set wire gso_max_segs 1 up")
    (folder / "on.nft").write_text(texts(SITE)[NODE])
    (folder / "off.nft").write_text("flush ruleset\n")
    threading.Thread(target=serve, daemon=True).start()
    argv = ["iperf3", "-s", "-p", str(PORT)]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    found: dict[str, dict[str, list[float]]] = {kind: {"off": [], "on": []} for kind in KINDS}
    for turn in range(ROUNDS):
        # Who comes first changes, or whatever grows with time would be one side's.
        for state in ("off", "on") if turn % 2 else ("on", "off"):
            sh(f"nft -f {folder / state}.nft")
            for kind in KINDS:
                found[kind][state].append(round(globals()[kind](own), 3))
    server.terminate()
    return found


def rows(found: dict[str, dict[str, list[float]]]) -> list[tuple[str, str, str, str]]:
    """Return kind, medians, and the median of the rounds' ratios with the smallest and the largest."""
    table = []
    for kind, figures in found.items():
        ratios = sorted(on / off for on, off in zip(figures["on"], figures["off"], strict=True))
        off, on = (statistics.median(figures[state]) for state in ("off", "on"))
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        table.append((KINDS[kind], f"{off:.2f}", f"{on:.2f}", spread))
    return table


def section(stored: dict[str, object]) -> str:
    """Return the section of evidence/performance.md."""
    lines = [MARK, "", "## The packet filter", ""]
    lines += [
        "The same traffic to a GPU node of a site of 256, without and with its rules, between two namespaces of one machine",
        f"({stored['when']}, {stored['machine']}, load {stored['load']}), in {ROUNDS} turns; frames of 1500 bytes, each",
        "judged by itself. A virtual cable costs nearly nothing, so that this is the most that the filter can add;",
        "without it nothing is tracked here, while Kubernetes' nodes track connections anyway.",
        "",
        "| traffic | without | with | with / without (smallest to largest) |",
        "| --- | --- | --- | --- |",
    ]
    lines += ["| " + " | ".join(row) + " |" for row in stored["rows"]]  # type: ignore[attr-defined]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print, store; exit status 2 where it cannot be done here."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--document", action="store_true", help="write the figures into evidence/performance.md"
    )
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(measure(Path(given.inside))))
        return 0
    absent = [name for name in ("nft", "iperf3", "ip", "unshare") if shutil.which(name) is None]
    if os.geteuid() != 0 or absent:
        print(f"bench/packet_filter.py needs root{' and ' + ', '.join(absent) if absent else ''}")
        return 2
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        argv = [*UNSHARE, sys.executable, __file__, "--inside", folder]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    machine = f"{os.cpu_count()} cores, Linux {platform.release().partition('-')[0]}"
    measured = rows(found)
    stored: dict[str, object] = {
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine,
        "load": round(load_before, 1),
    }
    stored |= {"rows": measured, "figures": found}
    table = Table("traffic", "without", "with", "with / without")
    for row in measured:
        table.add_row(*row)
    Console().print(table)
    out = ROOT / f"runs/bench/packet-filter-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    if given.document:
        text = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0].rstrip("\n")
        DOCUMENT.write_text(f"{text}\n\n{section(stored)}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
