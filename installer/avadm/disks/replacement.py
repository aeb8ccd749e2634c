"""Which disk of a node an OSD was on, and which one takes its place; nothing here asks or changes anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from avadm.catalogue import finding
from avadm.disks.nodes import Disk, choose
from avadm.findings import Finding
from avadm.site.model import Node
from avadm_node.probes.disks.naming import KINDS

Entry = Mapping[str, str]
"""An approval under ``devices`` of the site file."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """How an OSD's disks are.

    Attributes:
        old: the disk in the node that bears the OSD and is to go; None where it is no longer seen.
        removed: the approvals that are removed from the site file.
        new: the disk that takes its place; None where there is none yet.
        made: whether the new disk bears the OSD already, as the cluster knows it.
        findings: what is wrong with the choice.
    """

    old: Disk | None
    removed: tuple[Entry, ...]
    new: Disk | None
    made: bool
    findings: tuple[Finding, ...] = ()


def entries(node: Node) -> list[Entry]:
    """Return a node's approvals of OSDs."""
    names = {"by_id", "serial", "wwn", "device_class"}
    return [d.model_dump(include=names, exclude_none=True) for d in node.devices if d.use == "osd"]


def title(entry: Entry) -> str:
    """Return an approval as nodes name it in reports."""
    return ", ".join(f"{kind} {entry[kind]}" for kind in KINDS if entry.get(kind))


def called(entry: Entry, name: str) -> bool:
    """Return whether a user means an approval by a name: an identifier, the last part of its path, or the serial in it."""
    for kind in KINDS:
        value = (entry.get(kind) or "").lower()
        path = value.rpartition("/")[2]
        # udev writes BUS-MODEL_SERIAL.
        if value and name.lower() in (value, path, path.rpartition("_")[2]):
            return True
    return False


def bears(disk: Disk, number: int) -> bool:
    """Return whether an OSD of ours is on a disk, finished or not, under this id."""
    osd = disk.report["osd"]
    return disk.report["state"] in ("osd", "unfinished") and bool(osd) and osd["id"] == number


def _others(disks: Sequence[Disk], number: int) -> set[str]:
    """Return the names of approvals whose disks bear other OSDs of ours."""
    return {
        name
        for one in disks
        if one.report["state"] in ("osd", "unfinished") and not bears(one, number)
        for name in one.report["approved"]
    }


def named_osd(disks: Sequence[Disk], node: Node, ids: Sequence[int], name: str) -> int | Finding:
    """Return the id of the OSD on the disk that a user names, also where the disk is dead or gone.

    Args:
        disks: the node's disks.
        node: the node.
        ids: the node's OSDs, as the cluster has them.
        name: serial number, WWN, by-id path or kernel name.
    """
    found = choose(disks, name)
    if isinstance(found, Disk) and found.report["osd"] and found.report["osd"]["id"] in ids:
        return int(found.report["osd"]["id"])
    approved = [e for e in entries(node) if called(e, name)]
    if isinstance(found, Disk):
        approved += [e for e in entries(node) if title(e) in found.report["approved"] and e not in approved]
    if len(approved) != 1:
        return finding(
            "replace-target", where=name, found="no approved disk of the node", wanted="osd.N", host=node.name
        )
    # A disk that cannot be read is that of the one OSD which is on none of the others.
    left = [i for i in ids if not any(bears(d, i) for d in disks)]
    if len(left) == 1 and title(approved[0]) not in _others(disks, left[0]):
        return left[0]
    shown = ", ".join(f"osd.{i}" for i in left) or "no OSD without a disk"
    return finding("replace-target", where=name, found=shown, wanted="osd.N", host=node.name)


def decide(
    disks: Sequence[Disk],
    node: Node,
    number: int,
    uuid: str,
    wanted: str | None,
    *,
    written: bool,
    former: str | None = None,
) -> Replacement:
    """Return how an OSD's disk is replaced.

    Args:
        disks: the node's disks.
        node: the node.
        number: the OSD's id.
        uuid: its UUID as the cluster has it; "" where it is destroyed.
        wanted: how the user named the new disk; None where they did not.
        written: whether a former run has put a new disk into the site file.
        former: how the user named the old disk's approval; None where they did not.
    """
    present = {name: one for one in disks for name in one.report["approved"]}
    rest = [e for e in entries(node) if title(e) not in _others(disks, number)]
    fresh = [e for e in rest if (d := present.get(title(e))) and _takes(d, number, uuid)]
    spent = [e for e in rest if e not in fresh]
    current = next((d for d in disks if bears(d, number) and uuid and d.report["osd"]["fsid"] == uuid), None)
    if current and current.report["state"] == "osd" and (written or (wanted and wanted in current.names)):
        return Replacement(None, (), current, made=True)
    new = _new(disks, fresh, present, number, uuid, wanted, written)
    old = next((d for d in disks if bears(d, number) and d.report["state"] == "osd"), None)
    findings = [new] if isinstance(new, Finding) else []
    chosen = None if isinstance(new, Finding) else new
    mine = spent
    if old and (old.report["approved"] or not written):
        # Its own approval alone, which may be gone by now.
        mine = [e for e in spent if title(e) in old.report["approved"]]
    if written and chosen is not None:
        # Its approval has taken the old one's place; else the former new disk was bad, and another one was named.
        unused = [e for e in fresh if title(e) not in chosen.report["approved"]]
        mine = [] if chosen.report["approved"] else mine or unused
    if former is not None:
        named = [e for e in mine if called(e, former)]
        if not named and not written:
            known = "; ".join(map(title, mine)) or "no approved disk without an OSD"
            findings.append(
                finding(
                    "replace-old", where="--old", found=former, wanted=known, name=node.name, number=number
                )
            )
        mine = named or (mine if written else [])
    if len(mine) > 1:
        shown = "; ".join(map(title, mine))
        findings.append(
            finding("replace-entry", where=f"{node.name}: devices", found=shown, wanted="one", number=number)
        )
    return Replacement(old, tuple(mine), chosen, made=False, findings=tuple(findings))


def _takes(disk: Disk, number: int, uuid: str) -> bool:
    """Return whether an OSD can be made on a disk under this id: it is blank, or ours was begun there under the id."""
    return disk.report["state"] == "blank" or (bears(disk, number) and disk.report["state"] == "unfinished")


def _new(
    disks: Sequence[Disk],
    fresh: Sequence[Entry],
    present: Mapping[str, Disk],
    number: int,
    uuid: str,
    wanted: str | None,
    written: bool,
) -> Disk | Finding | None:
    if wanted is not None:
        found = choose(disks, wanted)
        if isinstance(found, Finding) or _takes(found, number, uuid):
            return found
        osd = found.report["osd"]
        return finding(
            "replace-not-blank",
            where=found.report["path"] or found.report["real"],
            found="; ".join(found.report["reasons"]) or (f"osd.{osd['id']}" if osd else found.on_it),
            wanted="a disk that is proven blank",
            host=found.node,
        )
    approved = [present[title(e)] for e in fresh]
    if written and len(approved) == 1:
        return approved[0]
    found_blank = [
        *approved,
        *(d for d in disks if d.report["state"] == "blank" and not d.report["approved"]),
    ]
    if len(found_blank) > 1:
        return finding(
            "replace-several",
            where="--with",
            found=", ".join(d.confirmation for d in found_blank),
            wanted="one of them",
            host=found_blank[0].node,
        )
    return found_blank[0] if found_blank else None
