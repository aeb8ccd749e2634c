"""What lets a container node run docker and kubelet: its flags, its files, its variables (evidence/fidelity.md).

Nodes are containers of one machine: they share its kernel settings and its cgroups, and lack what the machine lacks
itself. All that follows from this is here and in files/, none of it in a role: the roles' ordinary variables, which
any site could set, carry the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from avadm.errors import AvadmError
from avadm_lab.docker import gpus
from avadm_lab.docker.client import LABEL, Docker
from avadm_lab.layout import Config, LabNode

RUNTIME = "/usr/local/sbin/runc-lab"
"""Path in a node of the runtime that asks for nothing that this machine cannot give."""

VARIABLES: dict[str, Any] = {
    "docker_daemon_extra": {"default-runtime": "lab", "runtimes": {"lab": {"path": RUNTIME}}},
    # Without CAP_SYS_RESOURCE no one may lower an oom_score_adj; nf_conntrack's limits are the machine's alone.
    # The kernel, its modules and its swap space are the machine's.
    "kube_node_own_kernel": False,
    "kube_node_kubelet_extra_args": {"oom-score-adj": 0, "fail-swap-on": False},
    "kube_node_proxy_extra_args": {
        "oom-score-adj": 0,
        "conntrack-max-per-core": 0,
        "conntrack-min": 0,
        "conntrack-tcp-timeout-established": "0s",
        "conntrack-tcp-timeout-close-wait": "0s",
    },
    # The stand-in for the driver has programs and no libraries; the kernel's log is the machine's, all nodes' in one.
    "gpu_driver_needed": ["nvidia-smi"],
    "gpu_device_plugin_kernel_log": "/run/avadm-lab/kernel-log",
}
"""Variables of the lab's site file, for all nodes: settings of the roles docker, kube_node, gpu_driver and gpu_device_plugin."""

GPU_MAJOR = 195
"""Major number of NVIDIA's devices (Linux, Documentation/admin-guide/devices.txt)."""

UVM_MAJOR = 511
"""Major number of unified memory's device, as the driver is mostly given it; lab/gpu makes the device."""

LOOP_RULES = ("b 7:* rwm", "c 10:237 rwm")
"""Devices of workers that mount volumes for pods: loop devices, /dev/loop-control (Linux, devices.txt)."""

LOOPS = 64
"""Loop devices that a node can open; the kernel gives out the first free one of the machine."""

WEIGHT = 2
"""How many processes of this machine a node weighs. With one, kubelets beside thirty busy processes miss their heartbeat (40 s)
and the platform's pods are taken for dead; with many, the controller starves while nodes are under load."""

_VOLUMES = {"master": ("docker", "kubelet"), "worker": ("docker", "kubelet"), "etcd": ("etcd",)}
"""Role to the folders of /var/lib that are volumes: overlay on overlay does not work, etcd's data outlives a node."""

_ENABLED = "etc/systemd/system/sysinit.target.wants/avadm-lab-kubernetes.service"
_FILES = {
    "runc-lab": (RUNTIME.lstrip("/"), 0o755),
    "kubernetes.sh": ("usr/local/lib/avadm-lab/kubernetes", 0o755),
    "avadm-lab-kubernetes.service": ("etc/systemd/system/avadm-lab-kubernetes.service", 0o644),
}

_GPU_FILES = {"nvidia-persistenced.service": ("etc/systemd/system/nvidia-persistenced.service", 0o644)}
"""What the driver's packages bring beside programs."""


def cgroup(config: Config, node: LabNode) -> str:
    """Return the cgroup in which docker makes a node's own.

    At the top: below docker's one group all nodes together would have the weight of one process of this machine, and
    starve beside whatever else runs there.
    """
    return f"/avadm-{config.name}-{node.name}"


def weigh(config: Config, node: LabNode, root: Path = Path("/sys/fs/cgroup")) -> None:
    """Give a node that runs the CPU weight of WEIGHT processes of this machine; nothing where docker chose the cgroup.

    Args:
        config: the lab's numbers.
        node: the node.
        root: where this machine's cgroups are.
    """
    own = cgroup(config, node).lstrip("/")
    # Version 1 counts shares of 1024 a process, version 2 weights of 100.
    for path, unit in ((root / "cpu" / own / "cpu.shares", 1024), (root / own / "cpu.weight", 100)):
        # Not made where it is missing: it is the kernel's file.
        with suppress(FileNotFoundError), path.open("r+") as file:
            file.write(str(WEIGHT * unit))


def suit(nodes: Sequence[LabNode], root: Path = Path("/sys/fs/cgroup")) -> None:
    """AvadmError where kubelet cannot run in these nodes on this machine, whose cgroups are at ``root``."""
    if not any(n.kubernetes for n in nodes) or (root / "memory").is_dir():
        return
    raise AvadmError.of(
        "lab-cgroup",
        where=str(root),
        found="no hierarchy `memory` of cgroup v1",
        wanted="cgroup v1, or a lab without Kubernetes",
    )


def loops(node: LabNode) -> bool:
    """Return whether a node can mount pods' volumes from files and images."""
    return {"client", "worker"} <= node.possible


def rules(node: LabNode) -> list[str]:
    """Return the device rules of a node, as docker takes them."""
    return [
        *([f"c {GPU_MAJOR}:* rwm", f"c {UVM_MAJOR}:* rwm"] if node.gpus else []),
        *(LOOP_RULES if loops(node) else []),
    ]


def volumes(config: Config, node: LabNode) -> dict[str, str]:
    """Return path in the node to the name of the volume that is mounted there."""
    kinds = dict.fromkeys(kind for role in sorted(node.possible) for kind in _VOLUMES.get(role, ()))
    return {f"/var/lib/{kind}": f"avadm-{config.name}-{node.name}-{kind}" for kind in kinds}


def flags(config: Config, node: LabNode, label: str) -> list[str]:
    """Return docker's flags for a node; its volumes get the label, by which `lab down` finds them."""
    if not volumes(config, node):
        return []
    mounts = [
        f"type=volume,source={name},target={path},volume-label={label}"
        for path, name in volumes(config, node).items()
    ]
    args = [arg for mount in mounts for arg in ("--mount", mount)]
    if node.kubernetes:
        args += ["--device", "/dev/kmsg"]  # kubelet's watcher for killed processes reads the kernel's log
    return [*args, *(arg for rule in rules(node) for arg in ("--device-cgroup-rule", rule))]


def remove(docker: Docker, config: Config, root: Path = Path("/sys/fs/cgroup")) -> int:
    """Remove the volumes and the (by then empty) cgroups of a lab's nodes; return the number of volumes.

    Args:
        docker: the engine.
        config: the lab's numbers.
        root: where this machine's cgroups are.
    """
    for own in root.glob(f"*/avadm-{config.name}-*"):
        if re.fullmatch(rf"avadm-{config.name}-(stor|mast|comp)\d+", own.name):
            _remove_cgroup(own)
    found = docker.must("Listing volumes", "volume", "ls", "-q", "--filter", f"label={LABEL}={config.name}")
    names = found.split()
    if names:
        docker.must("Removing volumes", "volume", "rm", *names, timeout=120)
    return len(names)


def discard(docker: Docker, config: Config, node: LabNode, root: Path = Path("/sys/fs/cgroup")) -> int:
    """Remove the volumes and the (by then empty) cgroups of one node; return the number of volumes."""
    for own in root.glob(f"*/avadm-{config.name}-{node.name}"):
        _remove_cgroup(own)
    wanted = set(volumes(config, node).values())
    found = docker.must("Listing volumes", "volume", "ls", "-q", "--filter", f"label={LABEL}={config.name}")
    if names := sorted(wanted & set(found.split())):
        docker.must(f"Removing volumes of {node.name}", "volume", "rm", *names, timeout=120)
    return len(names)


def _remove_cgroup(own: Path) -> None:
    for folder, _, _ in os.walk(own, topdown=False):
        with suppress(OSError):  # a process that has not gone yet keeps it
            Path(folder).rmdir()


def contents(config: Config, node: LabNode) -> list[tuple[str, int, bytes]]:
    """Return path, mode and content of a node's files."""
    if not node.kubernetes:
        return []
    wanted = _FILES | (_GPU_FILES if node.gpus else {})
    own = [(path, mode, _read(name)) for name, (path, mode) in wanted.items()]
    settings = {
        "AVADM_LAB_GPUS": node.gpus,
        "AVADM_LAB_LOOPS": LOOPS if loops(node) else 0,
    }
    text = "".join(f"{key}={value}\n" for key, value in settings.items())
    return [*own, ("etc/default/avadm-lab-kubernetes", 0o644, text.encode())]


def links(node: LabNode) -> dict[str, str]:
    """Return the symbolic links of a node: path to target."""
    enabled = {_ENABLED: "../avadm-lab-kubernetes.service"} if node.kubernetes else {}
    return enabled | (gpus.LINKS if node.gpus else {})


def _read(name: str) -> bytes:
    return (files("avadm_lab.docker") / "files" / name).read_bytes()
