"""Approved devices exist, are what the site file says, and are proven blank or are our OSDs (avadm_node/probes/disks)."""

from __future__ import annotations

import re
from typing import Any

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding, Severity
from avadm.quantity import quantity
from avadm.site.model import Device, Node

# What our own OSDs leave on a device: not "in use by something else". With the back end raw it is bluestore's
# signature; with lvm that of LVM, and the volume that ceph-volume made, as device mapper names it.
SIGNATURE = "ceph_bluestore"
VOLUME = re.compile(r"ceph--[0-9a-f-]+-osd--block--[0-9a-f-]+")


def judge(context: PreflightContext) -> list[Finding]:
    """Return what speaks against each approved device."""
    found: list[Finding] = []
    for node, facts in context.each("devices"):
        if "osd" in node.roles and not node.devices:
            found.append(_none(node))
        seen: dict[str, str] = {}
        for device, fact in zip(node.devices, facts, strict=True):
            found += _one(node, device, fact)
            path = fact.get("path")
            if path in seen:
                found.append(_finding("disks-twice", node, device, seen[path], "one entry each"))
            elif path:
                seen[path] = _name(device)
    return found + _unproven(context, {(f.host, f.where) for f in found if f.severity is Severity.ERROR})


def _none(node: Node) -> Finding:
    """Return that a node's devices are to be approved yet: the site file is a draft."""
    return finding("disks", found="no devices", wanted="devices in the site file", host=node.name)


def _unproven(context: PreflightContext, reported: set[tuple[str | None, str]]) -> list[Finding]:
    """Return what the role that makes OSDs would refuse, but for what was reported already."""
    return [
        _finding("disks-unproven", node, device, found, "blank")
        for node, reports in context.each("proof")
        for device, report in zip(node.devices, reports, strict=True)
        if (found := "; ".join(report["reasons"])) and (node.name, _name(device)) not in reported
    ]


def _one(node: Node, device: Device, fact: dict[str, Any]) -> list[Finding]:
    """Judge one device."""
    if fact["matches"] == 0:
        return [_finding("disks-missing", node, device, "none", "one")]
    if fact["matches"] > 1:
        return [_finding("disks-several", node, device, quantity(fact["matches"], "device"), "one")]
    found = []
    if not fact["whole"]:
        found.append(_finding("disks-partition", node, device, fact["path"], "a whole device"))
    strange = [h for h in fact["holders"] if not VOLUME.fullmatch(h)]
    ours = SIGNATURE in fact["signature"] or len(strange) < len(fact["holders"])
    used = [f"mounted on {u}" if u != "swap" else "swap" for u in fact["used"]]
    used += [f"held by {h}" for h in strange]
    if not ours:
        used += [f"partition {p}" for p in fact["partitions"]]
        used += [f"signature {s}" for s in fact["signature"]]
    if used:
        zap = f"avadm disk zap {node.name} {device.by_id or device.serial or device.wwn}"
        found.append(_finding("disks-used", node, device, "; ".join(used), "blank", zap=zap))
    spins = device.device_class == "hdd"
    if fact["rotational"] is not None and fact["rotational"] is not spins:
        kind = "a spinning disk" if fact["rotational"] else "a solid-state disk"
        found.append(_finding("disks-kind", node, device, kind, f"device_class {device.device_class}"))
    return found


def _name(device: Device) -> str:
    return device.by_id or (f"serial {device.serial}" if device.serial else f"wwn {device.wwn}")


def _finding(code: str, node: Node, device: Device, found: str, wanted: str, **fields: Any) -> Finding:
    return finding(code, _name(device), found, wanted, host=node.name, **fields)


CHECK = Check(
    "disks", "approved devices are there and free", ("devices", "proof"), judge, ("osd",), scope="all"
)
