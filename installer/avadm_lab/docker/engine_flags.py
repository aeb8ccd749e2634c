"""Which docker flags make systemd run on this machine: tried once with a throw-away container.

Machines differ: on one without CAP_SYS_RESOURCE (nested sandboxes) ``--privileged`` cannot start at all, on
one with cgroup v2 alone systemd may need it. The least powerful set comes first. CAP_SYS_TIME is left out
wherever that is possible: all nodes share the machine's clock, and no node may set it.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

from avadm.errors import AvadmError
from avadm_lab.docker.client import LABEL, Docker
from avadm_lab.driver import Reporter

_CAPS = ["--cap-add", "ALL", "--cap-drop", "SYS_TIME"]
_OPEN = ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
_COMMON = ["--cgroupns", "private", "--tmpfs", "/run", "--tmpfs", "/tmp", "--device", "/dev/fuse"]  # noqa: S108 - paths in the node

CANDIDATES: dict[str, list[str]] = {
    "capabilities": [*_CAPS, *_OPEN, *_COMMON],
    "capabilities without SYS_RESOURCE": [*_CAPS, "--cap-drop", "SYS_RESOURCE", *_OPEN, *_COMMON],
    "privileged": ["--privileged", *_COMMON],
}
INIT = [
    "/bin/sh",
    "-c",
    "for tree in /sys/fs/cgroup /sys/fs/cgroup/*; do"
    ' if mountpoint -q "$tree"; then mount -o remount,bind,rw "$tree"; fi; done; exec /sbin/init',
]
"""What a node runs first: docker shows a container its own control groups, and unless it is privileged read-only."""
READY = ("running", "degraded")
"""States of systemd in which a node can be worked with."""
_PATIENCE_S = 30.0


def wait_systemd(docker: Docker, container: str, patience: float | None = None) -> str:
    """Wait until systemd in a container is up; return its state (the last one seen if it never was)."""
    patience = patience if patience is not None else _PATIENCE_S
    limit = time.monotonic() + patience
    state = ""
    while time.monotonic() < limit:
        # --wait blocks inside, but fails at once while systemd's bus is not there yet.
        state = docker.run(
            "exec", container, "systemctl", "is-system-running", "--wait", timeout=patience
        ).stdout.strip()
        if state in READY:
            break
        time.sleep(0.3)
    return state


def wait_sshd(docker: Docker, container: str, patience: float | None = None) -> str:
    """Wait until sshd in a container answers; return its unit's state (the last one seen if it never was active).

    Not until the whole node has started: what is installed there may wait for other nodes (a mount of cephfs for its
    cluster), and a machine can be worked with from the moment that it lets one in.
    """
    limit = time.monotonic() + (patience if patience is not None else _PATIENCE_S)
    state = ""
    while time.monotonic() < limit:
        state = docker.run("exec", container, "systemctl", "is-active", "ssh.service").stdout.strip()
        if state == "active":
            break
        time.sleep(0.2)
    return state


def nofile(pidfile: Path = Path("/var/run/docker.pid")) -> list[str]:
    """Return the flag for open files: as many as the daemon itself may have, 1048576 at most.

    Without CAP_SYS_RESOURCE a container cannot be given more than its daemon has.
    """
    wanted = 1048576
    try:
        limits = Path(f"/proc/{int(pidfile.read_text())}/limits").read_text().splitlines()
        hard = next(line.split()[4] for line in limits if line.startswith("Max open files"))
    except (OSError, ValueError, StopIteration, IndexError):
        hard = str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    limit = min(wanted, int(hard)) if hard.isdigit() else wanted
    return ["--ulimit", f"nofile={limit}:{limit}"]


def _key(docker: Docker) -> str:
    return docker.info("{{.ServerVersion}} {{.KernelVersion}} cgroup v{{.CgroupVersion}} {{.CgroupDriver}}")


def choose(docker: Docker, image: str, lab: str, store: Path, report: Reporter) -> list[str]:
    """Return the flags to run a node with; AvadmError where no set of flags works.

    The answer is kept in ``store`` for this engine, kernel and cgroup version.
    """
    key = _key(docker)
    known = json.loads(store.read_text()) if store.exists() else {}
    if known.get("key") == key and known.get("choice") in CANDIDATES:
        return CANDIDATES[known["choice"]] + nofile()
    messages = []
    for name, flags in CANDIDATES.items():
        why = _try(docker, image, lab, [*flags, *nofile()])
        if not why:
            report.note(f"containers run with: {name} ({key})")
            store.parent.mkdir(parents=True, exist_ok=True)
            store.write_text(json.dumps({"key": key, "choice": name}) + "\n")
            return flags + nofile()
        messages.append(f"{name}: {why}")
    raise AvadmError.of("lab-systemd", where="docker", found="; ".join(messages), wanted="systemd running")


def _try(docker: Docker, image: str, lab: str, flags: list[str]) -> str:
    name = f"avadm-{lab}-probe"
    docker.run("rm", "-f", name)
    try:
        made = docker.run(
            "run",
            "-d",
            "--name",
            name,
            "--label",
            f"{LABEL}={lab}",
            "--network",
            "none",
            *flags,
            image,
            *INIT,
        )
        if not made.ok:
            return made.why
        state = wait_systemd(docker, name)
        return "" if state in READY else f"systemd is {state or 'silent'}"
    finally:
        docker.run("rm", "-f", name)
