"""The first process of a room of simulated hosts: makes bridges and hosts, answers for time and packages, obeys stdin.

It runs in namespaces of its own (net, mount, pid), all of whose processes, interfaces and mounts the kernel removes
when it ends; it ends when its stdin does, which is when the test that holds the other end ends, however that was.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def sh(*argv: str, text: str | None = None) -> None:
    """Run a command that must succeed."""
    subprocess.run(argv, input=text, text=True, check=True, stdout=subprocess.DEVNULL)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the package repository without a log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Many hosts ask at once."""

    daemon_threads = True
    request_queue_size = 256


def serve_packages(folder: Path, address: str) -> None:
    """Answer for the package source, port 80."""
    server = Server((address, 80), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_time(address: str) -> None:
    """Answer for the time server: a stratum 2 that says the machine's time."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((address, 123))

    def answer() -> None:
        while True:
            _, sender = listener.recvfrom(512)
            stamp = int((time.time() + 2208988800) * 2**32) & (2**64 - 1)
            listener.sendto(struct.pack("!BBbb11I", 0x24, 2, 6, -20, *([0] * 9), stamp >> 32, 0), sender)

    threading.Thread(target=answer, daemon=True).start()


def prepare(folder: Path) -> None:
    """Make apt's lists and cache once, as each host will find them."""
    options = [
        f"Dir::Etc={folder}/apt",
        f"Dir::State={folder}/var/lib/apt",
        f"Dir::Cache={folder}/var/cache/apt",
    ]
    options += [f"Dir::State::status={folder}/var/lib/dpkg/status", "APT::Sandbox::User=root"]
    flags = [word for o in options for word in ("-o", o)]
    sh("apt-get", "-qq", "update", *flags)
    sh("apt-cache", "gencaches", *flags)


def start(folder: Path, plan: dict[str, Any]) -> dict[str, subprocess.Popen[str]]:
    """Start every host: namespaces first, then interfaces into them, then sshd."""
    sh("mount", "-t", "tmpfs", "tmpfs", str(folder / "hosts.d"))
    lines = ["link set lo up"]
    for network in plan["networks"]:
        lines.append(f"link add {network['bridge']} mtu {network['mtu']} type bridge")
        lines.append(f"link set {network['bridge']} up")
        lines += [f"addr add {a} dev {network['bridge']}" for a in network["addresses"]]
    sh("ip", "-batch", "-", text="\n".join(lines) + "\n")
    serve_packages(folder / "repository", plan["gateway"])
    serve_time(plan["time"])
    prepare(folder)
    hosts = {}
    for name in plan["hosts"]:
        argv = [
            "unshare",
            "--net",
            "--mount",
            "--uts",
            "--pid",
            "--ipc",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        argv += [str(HERE / "boot.sh"), str(folder), name]
        hosts[name] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    lines = []
    for name, process in hosts.items():
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{name} did not start")
        for link in plan["hosts"][name]:
            lines.append(
                f"link add {link['outer']} mtu {link['mtu']} type veth peer name {link['inner']} address {link['mac']} "
                f"mtu {link['mtu']} netns {process.pid}"
            )
            lines.append(f"link set {link['outer']} master {link['bridge']} up")
    sh("ip", "-batch", "-", text="\n".join(lines) + "\n")
    for process in hosts.values():
        if process.stdin is not None:
            process.stdin.write("go\n")
            process.stdin.close()
    return hosts


def wait(plan: dict[str, Any]) -> None:
    """Return when every sshd answers."""
    deadline = time.monotonic() + 120
    for address in plan["ssh"]:
        while True:
            try:
                socket.create_connection((address, 22), 2).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise SystemExit(f"no sshd on {address}") from None
                time.sleep(0.05)


def main(folder: Path) -> None:
    """Start what FOLDER/plan.json says, say so, and obey: one JSON line asks, one answers."""
    plan = json.loads((folder / "plan.json").read_text())
    try:
        obey(folder, plan)
    finally:
        if plan["remove"]:
            # Who made the folder may have been killed.
            subprocess.run(["umount", "--lazy", str(folder / "hosts.d")], check=False)
            shutil.rmtree(folder, ignore_errors=True)


def obey(folder: Path, plan: dict[str, Any]) -> None:
    """Start the hosts and do what stdin says until it ends."""
    hosts = start(folder, plan)
    wait(plan)
    print(json.dumps({"ready": len(hosts)}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        argv = ["sh", "-c", asked["command"]]
        if asked["node"] is not None:
            # unshare stays in the namespaces that it made, but for the pid one, which its child is the first of.
            pid = hosts[asked["node"]].pid
            child = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
            argv = ["nsenter", "--all", "--target", child, *argv]
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        print(json.dumps({"rc": done.returncode, "output": done.stdout + done.stderr}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
