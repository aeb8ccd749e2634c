"""A room of simulated hosts: made, asked for faults, and gone with the process that holds it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Self

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from avadm.checks.preflight.packages import VERSIONED
from avadm.paths import home
from avadm.remote.hostkeys import KnownHosts, parse_key
from avadm.site import profile as profiles

MANAGEMENT, STORAGE = IPv4Network("10.88.0.0/22"), IPv4Network("10.88.4.0/22")
GATEWAY, TIME = (
    MANAGEMENT[1],
    MANAGEMENT[2],
)  # two addresses, so that one can be cut off without the controller
PROFILE = "lab-bookworm"
JUMBO = 9000
FIRST = 10  # the first host's number in both networks
NEEDED = ("unshare", "nsenter", "ip", "apt-get", "/usr/sbin/sshd")


def missing() -> str | None:
    """Return why no room can be made here, or None."""
    if os.geteuid() != 0:
        return "simulated hosts need root"
    absent = [n for n in NEEDED if shutil.which(n) is None]
    return f"not here: {', '.join(absent)}" if absent else None


@dataclass(frozen=True)
class Host:
    """One simulated host: its name, number and roles."""

    name: str
    number: int
    roles: tuple[str, ...]

    @property
    def address(self) -> str:
        """Address on the management network."""
        return str(MANAGEMENT[FIRST + self.number])

    @property
    def storage_address(self) -> str:
        """Address on the storage network."""
        return str(STORAGE[FIRST + self.number])


def hosts(count: int) -> list[Host]:
    """Return hosts as a small site has them: three that monitor, the others bare."""
    monitors = min(3, count)
    made = [Host(f"mon{i:03}", i, ("prometheus", "alertmanager")) for i in range(monitors)]
    return made + [Host(f"cpu{i:03}", i, ()) for i in range(monitors, count)]


class Room:
    """A context: inside it the hosts answer on their addresses, in a network namespace of their own.

    Args:
        count: how many hosts.
        folder: where the site file and all the rest go; one of its own, removed at the end, where None.
    """

    def __init__(self, count: int, folder: Path | None = None) -> None:
        self._own = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="avadm-room-")) if folder is None else folder
        self.hosts = hosts(count)
        self._process: subprocess.Popen[str] | None = None

    @property
    def site(self) -> Path:
        """The site file that describes the hosts."""
        return self.folder / "site.yml"

    def __enter__(self) -> Self:
        self._write()
        argv = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        argv += [sys.executable, str(Path(__file__).parent / "inside.py"), str(self.folder)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(timeout=60)
        if self._own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, node: str | None, command: str) -> str:
        """Run a shell command inside a host, or beside them on the switch where None; return what it says."""
        if self._process is None or self._process.stdin is None:
            raise RuntimeError("the room is not open")
        self._process.stdin.write(json.dumps({"node": node, "command": command}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if answer["rc"] != 0:
            raise RuntimeError(f"{node}: {command}: {answer['output']}")
        return str(answer["output"])

    def avadm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line as a controller in the hosts' network."""
        if self._process is None:
            raise RuntimeError("the room is not open")
        argv = ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", sys.executable, "-m", "avadm"]
        argv += ["--site", str(self.site), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=home())

    def _answer(self) -> Any:
        line = self._process.stdout.readline() if self._process and self._process.stdout else ""
        if not line:
            raise RuntimeError("the simulation ended; its output is above")
        return json.loads(line)

    def _write(self) -> None:
        """Write all that the hosts will read."""
        for name in ("etc", "apt/apt.conf.d", "apt/preferences.d", "repository", "hosts.d", "var/lib/dpkg"):
            (self.folder / name).mkdir(parents=True)
        for name in ("lib/apt/lists/partial", "cache/apt/archives/partial"):
            (self.folder / "var" / name).mkdir(parents=True)
        (self.folder / "var/lib/dpkg/status").touch()
        (self.folder / "apt/sources.list").write_text(f"deb [trusted=yes] http://{GATEWAY} ./\n")
        known = KnownHosts(self.folder / "known_hosts")
        public = _key(self.folder / "id_ed25519")
        (self.folder / "authorized_keys").write_text(public + "\n")
        (self.folder / "authorized_keys").chmod(0o600)
        self._repository()
        (self.folder / "etc/os-release").write_text(
            'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12 (simulated)"\n'
        )
        (self.folder / "etc/resolv.conf").touch()
        for host in self.hosts:
            known.pin([host.name, host.address], parse_key(self._host(host)))
        known.save()
        self._plan()
        self._site()

    def _repository(self) -> None:
        """Write a package source that has every package by name and version, and none to install."""
        profile = profiles.load(PROFILE)
        names = sorted({n for packages in profile.packages.values() for n in packages})
        entries = []
        for name in names:
            version = profile.versions.get(VERSIONED.get(name, ""), "1.") + "0"
            entry = {"Package": name, "Version": version, "Architecture": "all", "Maintainer": "nobody"}
            entry |= {
                "Filename": f"./{name}.deb",
                "Size": "1",
                "SHA256": "0" * 64,
                "Description": "simulated",
            }
            entries.append("".join(f"{k}: {v}\n" for k, v in entry.items()))
        text = "\n".join(entries)
        (self.folder / "repository/Packages").write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self.folder / "repository/Release").write_text(
            f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {digest} {len(text)} Packages\n"
        )

    def _host(self, host: Host) -> str:
        """Write one host's own files; return its public host key."""
        own = self.folder / "hosts" / host.name
        (own / "etc").mkdir(parents=True)
        key = _key(own / "host_key")
        (own / "etc/hostname").write_text(host.name + "\n")
        (own / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {host.name}.room.test {host.name}\n")
        (own / "etc/machine-id").write_text(f"{0xABAD << 64 | host.number:032x}\n")
        options = {
            "ListenAddress": host.address,
            "HostKey": own / "host_key",
            "AuthorizedKeysFile": self.folder / "authorized_keys",
            "PermitRootLogin": "prohibit-password",
            "StrictModes": "no",
            "UsePAM": "no",
            "UseDNS": "no",
            "PidFile": "none",
        }
        (own / "sshd_config").write_text("".join(f"{k} {v}\n" for k, v in options.items()))
        lines = ["link set lo up", "link set eth0 up", "link set eth1 up"]
        lines += [f"addr add {host.address}/{MANAGEMENT.prefixlen} dev eth0"]
        lines += [f"addr add {host.storage_address}/{STORAGE.prefixlen} dev eth1"]
        # One kernel has one table of neighbours for all hosts, of 1024 entries; fixed ones do not count.
        for other in self.hosts if len(self.hosts) > 32 else []:
            lines.append(f"neigh add {other.address} lladdr {_mac(other, 0)} dev eth0 nud permanent")
            lines.append(f"neigh add {other.storage_address} lladdr {_mac(other, 1)} dev eth1 nud permanent")
        (own / "ip").write_text("\n".join(lines) + "\n")
        return key

    def _plan(self) -> None:
        """Write what inside.py shall start."""
        networks = [
            {
                "bridge": "br0",
                "mtu": 1500,
                "addresses": [f"{a}/{MANAGEMENT.prefixlen}" for a in (GATEWAY, TIME)],
            },
            {"bridge": "br1", "mtu": JUMBO, "addresses": [f"{STORAGE[1]}/{STORAGE.prefixlen}"]},
        ]
        links = {
            h.name: [
                {
                    "outer": f"v{i}.{h.name}",
                    "inner": f"eth{i}",
                    "mac": _mac(h, i),
                    "bridge": n["bridge"],
                    "mtu": n["mtu"],
                }
                for i, n in enumerate(networks)
            ]
            for h in self.hosts
        }
        plan = {
            "networks": networks,
            "gateway": str(GATEWAY),
            "time": str(TIME),
            "hosts": links,
            "ssh": [h.address for h in self.hosts],
            "remove": self._own,
        }
        (self.folder / "plan.json").write_text(json.dumps(plan))

    def _site(self) -> None:
        """Write the site file."""
        site = {
            "version": 1,
            "name": "room",
            "profile": PROFILE,
            "network": {
                "management": str(MANAGEMENT),
                "storage": str(STORAGE),
                "mtu": 1500,
                "storage_mtu": JUMBO,
                "domain": "room.test",
            },
            "time": {"servers": [str(TIME)]},
            "nodes": [
                {
                    "name": h.name,
                    "address": h.address,
                    "storage_address": h.storage_address,
                    "roles": list(h.roles),
                }
                for h in self.hosts
            ],
        }
        self.site.write_text(yaml.safe_dump(site, sort_keys=False))


def _mac(host: Host, interface: int) -> str:
    return f"02:00:00:{interface:02x}:{host.number >> 8:02x}:{host.number & 255:02x}"


def _key(path: Path) -> str:
    """Write a new ed25519 key in OpenSSH's form; return its public half."""
    key = Ed25519PrivateKey.generate()
    form = serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode()
