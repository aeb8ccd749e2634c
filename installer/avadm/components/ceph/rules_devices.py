"""Rules over approved devices (design 8): each is named once, by what stays with the disk."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site.draft import Draft
from avadm.site.model import Device
from avadm.site.source import KeyPath

# What udev lets stand in a link's name; the space is in serial numbers as a disk tells them.
_IDENTIFIER = re.compile(r"[A-Za-z0-9#+.:=@_ \\-]+")
IDENTIFIERS = ("serial", "wwn", "by_id")


def identifiers(draft: Draft) -> Iterator[Finding]:
    """A device has exactly one identifier, and it is not a kernel name."""
    for path, device, host in _devices(draft):
        given = [k for k in IDENTIFIERS if getattr(device, k) is not None]
        if len(given) != 1:
            yield draft.finding(
                "device-identifier",
                path,
                ", ".join(given) or "nothing",
                "exactly one of serial, wwn, by_id",
                host=host,
                node=host,
                value="nothing" if not given else "several ids",
            )
        for key in given:
            value = str(getattr(device, key))
            name = value.removeprefix("/dev/disk/by-id/")
            if not value.strip() or (key != "by_id" and "/" in value):
                yield draft.finding(
                    "device-identifier-unstable",
                    (*path, key),
                    value,
                    "a serial, WWN or by-id path: kernel names such as sdb move at a reboot",
                    host=host,
                    node=host,
                )
            elif not _IDENTIFIER.fullmatch(name) or not name.strip("."):
                yield draft.finding(
                    "device-identifier-unknown",
                    (*path, key),
                    value,
                    "letters, digits, spaces and # + - . : = @ _",
                    host=host,
                    node=host,
                )
            elif key == "by_id" and "-part" in value:
                yield draft.finding(
                    "device-partition",
                    (*path, key),
                    value,
                    "a whole device",
                    host=host,
                    node=host,
                    value=value.rpartition("-part")[0],
                )


def duplicates(draft: Draft) -> Iterator[Finding]:
    """No disk is listed twice; a serial or WWN is in one machine only."""
    devices = list(_devices(draft))
    for key in ("serial", "wwn"):
        yield from draft.twice(
            f"duplicate-device-{key}",
            (((*p, key), v, h) for p, d, h in devices if (v := getattr(d, key)) is not None),
        )
    first: dict[str, tuple[KeyPath, str]] = {}
    for path, device, host in devices:
        if device.by_id is None:
            continue
        place, other = first.setdefault(device.by_id, (path, host))
        if place == path:
            continue
        # Virtual machines have equal by-id names (virtio-disk1); a real disk cannot be in two machines.
        yield draft.finding(
            "duplicate-device" if other == host else "duplicate-device-nodes",
            (*path, "by_id"),
            f"also at {draft.where(place)}",
            "each device once",
            host=host,
            by_id=device.by_id,
        )


def osd_devices(draft: Draft) -> Iterator[Finding]:
    """OSD nodes have devices, and only they."""
    for i, node in draft.nodes("roles", "devices"):
        if "osd" in node.roles and not node.devices:
            path: KeyPath = ("nodes", i, "devices")
            yield draft.finding(
                "osd-without-devices",
                path,
                "no devices",
                "devices: a list with serial, wwn or by_id of each",
                host=node.name,
                name=node.name,
            )
        elif node.devices and "osd" not in node.roles:
            yield draft.finding(
                "devices-without-osd",
                ("nodes", i, "devices"),
                f"{quantity(len(node.devices), 'device')}, roles: {', '.join(node.roles) or 'none'}",
                "the role osd, or no devices",
                host=node.name,
                name=node.name,
            )


def classes(draft: Draft) -> Iterator[Finding]:
    """All OSDs are of one class: the pools' rules choose by host or rack, never by class."""
    devices = [one for one in _devices(draft) if one[1].use == "osd"]
    counts = Counter(device.device_class for _, device, _ in devices).most_common()
    if len(counts) < 2:
        return
    path, _, host = next(one for one in devices if one[1].device_class != counts[0][0])
    yield draft.finding(
        "device-classes-mixed",
        (*path, "device_class"),
        ", ".join(f"{count} {name}" for name, count in counts),
        "one device_class for all",
        host=host,
        value=counts[0][0],
    )


def _devices(draft: Draft) -> Iterator[tuple[KeyPath, Device, str]]:
    for i, node in enumerate(draft.site.nodes):
        for j, device in enumerate(node.devices):
            if draft.ok("nodes", i, "devices", j):
                yield ("nodes", i, "devices", j), device, node.name


RULES = [identifiers, duplicates, osd_devices, classes]
