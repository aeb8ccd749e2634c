"""The machine has what its roles' minima say: cores, memory, system disk, approved devices (P3, P4, P9, P10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.checks.base import Check, Context
from avadm.checks.hardware import minimum
from avadm.findings import Finding
from avadm.site.model import Hardware, Node

# Makers count in powers of ten and firmware keeps some memory: "128 GiB" shows about 125, "4 TiB" is sold as 3.84 TB
# (3.49 TiB), "240 GiB" as 240 GB (223 GiB).
MEMORY_SHARE, DISK_SHARE = 0.95, 0.85


def judge(context: Context) -> list[Finding]:
    """Return an error for each thing that a node has less of than its roles' minima."""
    found = []
    for node in context.nodes:
        facts = context.facts.get(node.name)
        if facts is not None:
            least = minimum(context.site, context.profile, node)
            found += [
                Finding(
                    "hardware",
                    f"The node has less than its roles want: {what}.",
                    "hardware",
                    have,
                    want,
                    "Use another machine, move roles, lower `hardware` in the site file, or waive it.",
                    host=node.name,
                )
                for what, have, want in _short(node, least, facts)
            ]
    return found


def _short(node: Node, least: Hardware, facts: Any) -> Iterator[tuple[str, str, str]]:
    """Yield what there is too little of: what, found, wanted."""
    cpus, memory, drives = (facts.get(k) for k in ("cpus", "memory", "drives"))
    if least.cores is not None and cpus is not None and cpus < least.cores:
        yield "processors", f"{cpus}", f"at least {least.cores}"
    gib = max(least.memory_gib or 0, (least.memory_gib_per_device or 0) * len(node.devices))
    if memory is not None and memory["total_mib"] < MEMORY_SHARE * 1024 * gib:
        yield "memory", f"{memory['total_mib'] / 1024:.0f} GiB", f"at least {gib:g} GiB"
    if least.disks_gib and drives is not None:
        approved = {d.get("path", "").rpartition("/")[2] for d in facts.get("devices") or []}
        have = sorted((d["gib"] for d in drives if d["name"] not in approved), reverse=True)
        want = sorted(least.disks_gib, reverse=True)
        if len(have) < len(want) or any(h < DISK_SHARE * w for h, w in zip(have, want, strict=False)):
            yield "disks besides the approved devices", _sizes(have), _sizes(want)
    if least.devices is not None and len(node.devices) < least.devices:
        yield "approved devices", f"{len(node.devices)}", f"at least {least.devices}"
    if least.device_gib is not None and facts.get("devices") is not None:
        small = [
            d for d in facts["devices"] if d.get("gib", least.device_gib) < DISK_SHARE * least.device_gib
        ]
        if small:
            yield (
                "size of approved devices",
                ", ".join(f"{d['path']} {d['gib']} GiB" for d in small),
                f"{least.device_gib} GiB",
            )


def _sizes(gib: list[int]) -> str:
    return ", ".join(f"{g} GiB" for g in gib) or "none"


CHECK = Check(
    "hardware", "the machine has what its roles want", ("cpus", "memory", "drives", "devices"), judge
)
