"""The kernel was booted as Kubernetes 1.9 and the GPU driver need it: cgroup v1, no nouveau."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.site.model import Node

NEEDED = ("cpu", "cpuacct", "cpuset", "memory")
"""Controllers of cgroup v1 without which kubelet 1.9 does not start, or cannot keep a limit."""
KUBELET = {"master", "worker"}
V1 = "systemd.unified_cgroup_hierarchy=0"


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node that kubelet or the GPU driver cannot use as it was booted."""
    return [finding for node, boot in context.each("boot") for finding in _of(context, node, boot)]


def _of(context: PreflightContext, node: Node, boot: dict[str, Any]) -> Iterator[Finding]:
    controllers = boot["controllers"]
    lacking = [c for c in NEEDED if c not in controllers]
    if lacking and KUBELET & set(node.roles):
        yield finding(
            "boot",
            where="/proc/self/mounts",
            found="cgroup v2 only" if not controllers else f"cgroup v1 without {', '.join(lacking)}",
            wanted=f"cgroup v1 with {', '.join(NEEDED)} (kernel argument {V1})",
            host=node.name,
            remedy=_remedy(context, [V1]),
        )
    if boot["nouveau"] and "gpu" in node.roles:
        yield finding(
            "boot-nouveau",
            where="/proc/modules",
            found="nouveau is loaded",
            wanted="not loaded (kernel argument modprobe.blacklist=nouveau)",
            host=node.name,
            remedy=_remedy(context, ["modprobe.blacklist=nouveau"]),
        )


def _remedy(context: PreflightContext, arguments: list[str]) -> str:
    by_hand = (
        f"dd {' '.join(arguments)} to GRUB_CMDLINE_LINUX in /etc/default/grub, run `update-grub` and reboot."
    )
    if not set(arguments) <= {a for many in context.profile.kernel_arguments.values() for a in many}:
        return f"A{by_hand}"
    allow = "" if context.site.boot.allow_reboot else "Set `boot.allow_reboot: true` in the site file and "
    run = f"{allow}{'run' if allow else 'Run'} `avadm bootstrap`, which sets the argument and reboots one node at a time."
    return f"{run} Or a{by_hand}"


CHECK = Check("boot", "booted as kubelet 1.9 and the GPU driver need it", ("boot",), judge, scope="all")
