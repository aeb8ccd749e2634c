"""What the lab needs on this machine, and how it is had."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from avadm.errors import AvadmError
from avadm_lab.driver import Reporter, step
from avadm_lab.process import Proc, run_checked

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
_MARK = "# Written by avadm lab while it installs packages; it removes this file."
_SYSTEMD = Path("/run/systemd/system")  # there where systemd is process 1: sd_booted(3)
_INIT_SCRIPTS = Path("/etc/init.d")
_SERVICES = {
    "docker.io": ["docker.service", "docker.socket"],
    "containerd": ["containerd.service"],
    "apt-cacher-ng": ["apt-cacher-ng.service"],
    "openssh-server": ["ssh.service", "ssh.socket"],
}


def missing(programs: Mapping[str, str] = PROGRAMS) -> list[str]:
    """Return the Debian packages whose programs are not on this machine, each once."""
    path = f"{os.environ.get('PATH', '')}:{_PATH}"
    return sorted({package for program, package in programs.items() if not shutil.which(program, path=path)})


def ensure(proc: Proc, report: Reporter, programs: Mapping[str, str] = PROGRAMS) -> list[str]:
    """Have every needed package; return those that were installed. Their services are not started, now or at boot.

    Args:
        proc: runs commands.
        report: called with what takes time.
        programs: what is needed, each program's name or path to the package that has it.

    Raises:
        AvadmError: not root, or packages are missing that cannot be installed here.
    """
    wanted = missing(programs)
    if os.geteuid() != 0:
        raise AvadmError.of("lab-root", where="this machine", found=f"uid {os.geteuid()}", wanted="uid 0")
    _drop_stale_policy(report)
    if not wanted:
        return []
    command = f"apt-get install -y --no-install-recommends {' '.join(wanted)}"
    if not shutil.which("apt-get"):
        raise AvadmError.of(
            "lab-packages",
            where="this machine",
            found="missing: " + ", ".join(wanted),
            wanted="all of them (Debian's names)",
            command=command,
        )
    with step(report, f"installing {', '.join(wanted)}"), _NoServices():
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        run_checked(proc.run(["apt-get", "update", "-q"], timeout=300, env=env), "Reading the package lists")
        run_checked(proc.run(command.split(), timeout=900, env=env), "Installing packages", f"Run: {command}")
        _disable(proc, report, wanted)
    return wanted


def _disable(proc: Proc, report: Reporter, packages: list[str]) -> None:
    """Keep the services of packages that we installed from starting at the next boot.

    A second apt-cacher-ng would take the port of the lab's own; the lab starts its daemons itself.
    """
    services = [s for package in packages for s in _SERVICES.get(package, [])]
    if not services:
        return
    if _SYSTEMD.is_dir():
        commands = [["systemctl", "disable", *services]]
    else:
        names = [s.removesuffix(".service") for s in services]
        commands = [["update-rc.d", n, "disable"] for n in names if (_INIT_SCRIPTS / n).exists()]
    for command in commands:
        if not (done := proc.run(command)).ok:
            report.note(f"these start at the next boot, since {' '.join(command)} failed: {done.why}")


def _drop_stale_policy(report: Reporter) -> None:
    """Remove our own policy-rc.d, left behind where an installation was killed."""
    if _POLICY.is_file() and _MARK in _POLICY.read_text(errors="replace"):
        _POLICY.unlink()
        report.note(f"removed {_POLICY}, left behind by an installation that was killed")


class _NoServices:
    """While packages are installed, keep dpkg from starting their services (the lab runs its own daemons).

    Debian's invoke-rc.d asks /usr/sbin/policy-rc.d (101: not allowed); one that is there already stays.
    """

    def __enter__(self) -> None:
        self.made = not _POLICY.exists()
        if self.made:
            _POLICY.write_text(f"#!/bin/sh\n{_MARK}\nexit 101\n")
            _POLICY.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        if self.made:
            _POLICY.unlink(missing_ok=True)
