"""Approving disks: an entry in the site file, which otherwise stays as its author wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from avadm.catalogue import finding
from avadm.disks.nodes import Disk
from avadm.findings import Finding
from avadm.site import edit
from avadm.site.text import read_text
from avadm_node.probes.disks.naming import KINDS


def refusals(disks: Sequence[Disk]) -> list[Finding]:
    """Return why disks cannot be approved: only one that is blank, or our OSD already, can."""
    return [
        finding(
            "disk-refused",
            where=disk.report["path"] or disk.report["real"],
            found="; ".join(disk.report["reasons"]),
            wanted="a disk that is proven blank, or an OSD of this cluster",
            host=disk.node,
        )
        for disk in disks
        if disk.report["state"] not in ("blank", "osd", "unfinished")
    ]


def unknown_kinds(disks: Sequence[Disk]) -> list[Finding]:
    """Return the disks of virtual machines whose kind the kernel does not know: a guess would choose their CRUSH class."""
    return [
        finding(
            "disk-class",
            where=disk.report["path"] or disk.report["real"],
            found="no device class",
            wanted="the class of what is behind it",
            host=disk.node,
        )
        for disk in disks
        if disk.report["rotational"] is None and not disk.report["kernel"].startswith("loop")
    ]


def entry(disk: Disk, device_class: str | None = None) -> dict[str, str]:
    """Return a disk's entry under ``devices``; its class as the kernel tells it where none is given."""
    made = dict(disk.report["approval"])
    if device_class is not None:
        made["device_class"] = device_class
    elif disk.report["rotational"]:
        made["device_class"] = "hdd"
    elif disk.report["kernel"].startswith("nvme"):
        made["device_class"] = "nvme"
    return made


def edited(
    text: str, node: str, entries: Sequence[Mapping[str, str]], removed: Sequence[Mapping[str, str]] = ()
) -> str:
    """Return a site file's text with devices added to a node and others removed; comments, quotes and order stay.

    Raises:
        KeyError: the file has no such node (of its own: it may come from an anchor).
    """

    def change(data: Any) -> None:
        found = edit.entry(data, node)
        if not found.get("devices"):
            found["devices"] = CommentedSeq()
        devices = found["devices"]
        for index in reversed(range(len(devices))):
            if any(_same(devices[index], one) for one in removed):
                del devices[index]
        devices += [CommentedMap(one) for one in entries]

    return edit.changed(text, change)


def _same(written: Mapping[str, Any], approval: Mapping[str, str]) -> bool:
    """Return whether a device of the file is the one that an approval names."""
    return all(written.get(kind) == approval.get(kind) for kind in KINDS)


def approve(
    path: Path, node: str, entries: Sequence[Mapping[str, str]], removed: Sequence[Mapping[str, str]] = ()
) -> str:
    """Write approvals into a site file, remove others, and return the difference, as a unified diff.

    Raises:
        AvadmError: the file cannot be read or written, or would not be good any more; then it is as before.
    """
    return edit.write(path, edited(read_text(path), node, entries, removed))
