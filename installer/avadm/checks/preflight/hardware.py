"""The machine has what its roles' minima say: cores, memory, disks by size and kind, interfaces (P3 to P10, N12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.site.hardware import minimum
from avadm.site.model import Hardware, Node

# Makers count in powers of ten and firmware keeps some memory: "128 GiB" shows about 125, "4 TiB" is sold as 3.84 TB
# (3.49 TiB), "240 GiB" as 240 GB (223 GiB).
MEMORY_SHARE, DISK_SHARE = 0.95, 0.85


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error for each thing that a node has less of than its roles' minima."""
    found = []
    for node in context.nodes:
        facts = context.facts.get(node.name)
        if facts is not None:
            least = minimum(context.site, context.profile, node)
            found += [
                finding("hardware", where="hardware", found=have, wanted=want, host=node.name, what=what)
                for what, have, want in _short(node, least, facts)
            ]
    return [*found, *_counts(context)]


def _counts(context: PreflightContext) -> Iterator[Finding]:
    """Yield a warning for each role that another number of nodes has than the specification knows."""
    for role, wanted in context.profile.counts.items():
        have = [n.name for n in context.site.with_role(role)]
        if have and len(have) not in wanted:
            yield finding(
                "hardware-counts",
                where="nodes",
                found=f"{len(have)}: {', '.join(have)}",
                wanted=" or ".join(map(str, wanted)),
                role=role,
            )


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
        # Where only solid-state disks count, one of which that is not reported (null) does not.
        fit = [d for d in drives if not least.ssd or d["rotational"] is False]
        have = sorted((d["gib"] for d in fit if d["name"] not in approved), reverse=True)
        want = sorted(least.disks_gib, reverse=True)
        if len(have) < len(want) or any(h < DISK_SHARE * w for h, w in zip(have, want, strict=False)):
            kind = "solid-state disks" if least.ssd else "disks"
            yield f"{kind} besides the approved devices", _sizes(have), _sizes(want)
    if least.ssd and (spin := [d["path"] for d in facts.get("devices") or [] if d.get("rotational")]):
        yield "approved devices that are solid-state", f"{', '.join(spin)} spin", "none that spins"
    if least.nics is not None and facts.get("links") is not None:
        speed = least.nic_gbit or 0
        # One without a link does not tell its speed: it counts, since a cable is not the machine's.
        links = [x for x in facts["links"] if x["speed"] is None or x["speed"] >= 1000 * speed]
        if len(links) < least.nics:
            kind = f"interfaces of {speed:g} Gbit/s" if speed else "interfaces"
            text = ", ".join(f"{x['name']} {x['speed'] or '?'} Mbit/s" for x in facts["links"]) or "none"
            yield kind, text, f"at least {least.nics}"
    # A draft has none yet: the check `disks` reports that.
    if least.devices is not None and 0 < len(node.devices) < least.devices:
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
    "hardware",
    "the machine has what its roles want",
    ("cpus", "memory", "drives", "devices", "links"),
    judge,
    scope="all",
)
