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
                found.append(
                    _finding(node, device, "Two entries mean the same device.", seen[path], "one entry each")
                )
            elif path:
                seen[path] = _name(device)
    return found + _unproven(context, {(f.host, f.where) for f in found if f.severity is Severity.ERROR})


def _none(node: Node) -> Finding:
    """Return that a node's devices are to be approved yet: the site file is a draft."""
    return finding("disks", found="no devices", wanted="devices in the site file", host=node.name)


def _unproven(context: PreflightContext, told: set[tuple[str | None, str]]) -> list[Finding]:
    """Return what the role that makes OSDs would refuse, but for what was told already."""
    remedy = "See docs/how-to/disks.md; `avadm disk list` shows all disks of the node."
    return [
        _finding(node, device, "It is not proven that the device is blank.", found, "blank", remedy)
        for node, reports in context.each("proof")
        for device, report in zip(node.devices, reports, strict=True)
        if (found := "; ".join(report["reasons"])) and (node.name, _name(device)) not in told
    ]


def _one(node: Node, device: Device, fact: dict[str, Any]) -> list[Finding]:
    """Judge one device."""
    if fact["matches"] == 0:
        remedy = "Compare with `lsblk -o NAME,SERIAL,WWN,SIZE` and `ls -l /dev/disk/by-id` on the node."
        return [_finding(node, device, "The device is not there.", "none", "one", remedy)]
    if fact["matches"] > 1:
        many = quantity(fact["matches"], "device")
        remedy = "Name it by a by-id path (multipath shows one disk as several)."
        return [_finding(node, device, "The name fits several devices.", many, "one", remedy)]
    found = []
    if not fact["whole"]:
        found.append(_finding(node, device, "This is a partition.", fact["path"], "a whole device"))
    strange = [h for h in fact["holders"] if not VOLUME.fullmatch(h)]
    ours = SIGNATURE in fact["signature"] or len(strange) < len(fact["holders"])
    used = [f"mounted on {u}" if u != "swap" else "swap" for u in fact["used"]]
    used += [f"held by {h}" for h in strange]
    if not ours:
        used += [f"partition {p}" for p in fact["partitions"]]
        used += [f"signature {s}" for s in fact["signature"]]
    if used:
        zap = f"avadm disk zap {node.name} {device.by_id or device.serial or device.wwn}"
        remedy = f"Check that it is the right device. If nothing on it is needed: `{zap}`."
        found.append(
            _finding(
                node, device, "The device is in use by something else.", "; ".join(used), "blank", remedy
            )
        )
    spins = device.device_class == "hdd"
    if fact["rotational"] is not None and fact["rotational"] is not spins:
        kind = "a spinning disk" if fact["rotational"] else "a solid-state disk"
        found.append(
            _finding(
                node,
                device,
                "The device is of another kind than the site file says.",
                kind,
                f"device_class {device.device_class}",
                "Correct device_class (behind a RAID controller the kernel may be wrong).",
                Severity.WARNING,
            )
        )
    return found


def _name(device: Device) -> str:
    return device.by_id or (f"serial {device.serial}" if device.serial else f"wwn {device.wwn}")


def _finding(
    node: Node,
    device: Device,
    what: str,
    found: str,
    wanted: str,
    remedy: str = "Correct the devices of that node in the site file.",
    severity: Severity = Severity.ERROR,
) -> Finding:
    return Finding(
        check="disks",
        what=what,
        where=_name(device),
        found=found,
        wanted=wanted,
        remedy=remedy,
        severity=severity,
        host=node.name,
    )


CHECK = Check(
    "disks", "approved devices are there and free", ("devices", "proof"), judge, ("osd",), scope="all"
)
