"""What the lab needs on this machine, and how it is had."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.lab.driver import Reporter, step
from avadm.lab.proc import Proc, must

PROGRAMS = {
    "docker": "docker.io",
    "dockerd": "docker.io",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "apt-cacher-ng": "apt-cacher-ng",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "losetup": "util-linux",
    "ip": "iproute2",
}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_POLICY = Path("/usr/sbin/policy-rc.d")


def missing() -> list[str]:
    """Return the Debian packages whose programs are not on this machine, each once."""
    path = f"{os.environ.get('PATH', '')}:{_PATH}"
    return sorted({package for program, package in PROGRAMS.items() if not shutil.which(program, path=path)})


def ensure(proc: Proc, report: Reporter) -> list[str]:
    """Have every needed package; return those that were installed.

    Raises:
        AvadmError: not root, or packages are missing that cannot be installed here.
    """
    wanted = missing()
    if os.geteuid() != 0:
        raise AvadmError(
            Finding(
                "lab-root",
                "The lab needs root: it makes devices, networks and containers.",
                "this machine",
                f"uid {os.geteuid()}",
                "uid 0",
                "Run the same command with sudo.",
            )
        )
    if not wanted:
        return []
    command = f"apt-get install -y --no-install-recommends {' '.join(wanted)}"
    if not shutil.which("apt-get"):
        raise AvadmError(
            Finding(
                "lab-packages",
                "The lab needs packages that this machine has not.",
                "this machine",
                "missing: " + ", ".join(wanted),
                "all of them (Debian's names)",
                f"On Debian: {command}",
            )
        )
    with step(report, f"installing {', '.join(wanted)}"), _NoServices():
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        must(proc.run(["apt-get", "update", "-q"], timeout=300, env=env), "Reading the package lists")
        must(proc.run(command.split(), timeout=900, env=env), "Installing packages", f"Run: {command}")
    return wanted


class _NoServices:
    """While packages are installed, keep dpkg from starting their services (the lab runs its own daemons).

    Debian's invoke-rc.d asks /usr/sbin/policy-rc.d (101: not allowed); one that is there already stays.
    """

    def __enter__(self) -> None:
        self.made = not _POLICY.exists()
        if self.made:
            _POLICY.write_text("#!/bin/sh\nexit 101\n")
            _POLICY.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        if self.made:
            _POLICY.unlink(missing_ok=True)
