"""GPUs: devices, unified memory, what Kubernetes may give out, memory that no pod holds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding
from avadm.quantity import quantity

HELD = 0.1
"""Share of a GPU's memory in use that is worth telling where no pod asks for a GPU."""


def _uvm(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if not data["uvm"]:
        yield bad("/dev/nvidia-uvm is missing: no CUDA program starts in a container")


def _devices(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    wanted = next(n.gpus for n in s.site.nodes if n.name == node)
    if data["said"]:
        yield bad(f"the driver does not answer: {data['said']}")
    elif len(data["seen"]) < wanted:
        yield bad(f"the driver sees {quantity(len(data['seen']), 'GPU')}, the site file has {wanted}")


def _memory(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    kube = s.first("kubernetes")
    held = [r for r in data["seen"] if r["total_mib"] and r["used_mib"] > HELD * r["total_mib"]]
    if held and kube is None:
        yield unknown("memory is held, and Kubernetes could not be asked whether a pod here has a GPU")
    if kube is None or kube["counts"].get(node, {}).get("gpus", 0):
        return
    for row in held:
        yield warn(
            f"GPU {row['index']}: {row['used_mib']} of {row['total_mib']} MiB are held, and no pod here has a GPU"
        )


def _given(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for n in s.site.with_role("gpu"):
        state = data["nodes"].get(n.name)
        wanted = n.gpus * n.gpu_slots
        if state is not None and state["gpus"] < wanted:
            what = "GPUs" if n.gpu_slots == 1 else "slots of GPUs"
            yield warn(f"Kubernetes may give out {state['gpus']} of {wanted} {what}", n.name)


_check = partial(Check, topic="gpu")


CHECKS = (
    _check(
        "gpu-uvm",
        "/dev/nvidia-uvm is missing",
        ("gpu",),
        _uvm,
        roles=("gpu",),
        remedy="`systemctl restart avadm-nvidia-uvm` there; where it fails, the module nvidia-uvm is not "
        "loaded: `journalctl -u avadm-nvidia-uvm`.",
        requirement="K8",
        good="/dev/nvidia-uvm is there",
    ),
    _check(
        "gpu-devices",
        "GPUs that the driver does not see",
        ("gpu",),
        _devices,
        roles=("gpu",),
        remedy="`nvidia-smi` and `dmesg -T | grep -e NVRM -e Xid` there; after an upgrade of the kernel `avadm apply gpu`.",
        requirement="K8",
        good="all GPUs answer",
    ),
    _check(
        "gpu-memory",
        "GPU memory that is held though no pod has a GPU",
        ("gpu",),
        _memory,
        roles=("gpu",),
        remedy="`nvidia-smi` and `fuser -v /dev/nvidia*` there name the process: end it, unless it is intended.",
        requirement="K8",
        good="only pods hold it",
        also=("kubernetes",),
    ),
    _check(
        "gpu-allocatable",
        "GPUs that Kubernetes does not know of",
        ("kubernetes",),
        _given,
        roles=("master",),
        scope="site",
        remedy="`journalctl -u avadm-gpu-device-plugin -e` there; `systemctl restart avadm-gpu-device-plugin` "
        "registers them again.",
        requirement="I5",
        good="all can be given out",
    ),
)
