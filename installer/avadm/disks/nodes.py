"""What the nodes say of their disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.disks.approvals import approvals
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote import access
from avadm.remote import call as asking
from avadm.remote.call import Answer, Function
from avadm.remote.fleet import Fleet
from avadm.site.model import Node, Site
from avadm_node.probes.disks import report

TIMEOUT = 600.0  # seconds; each blank disk is read for 96 MiB


@dataclass(frozen=True)
class Disk:
    """One whole disk of a node.

    Attributes:
        node: the node's name.
        report: what avadm_node's disks.report.every reported of it.
    """

    node: str
    report: Mapping[str, Any]

    @property
    def names(self) -> set[str]:
        """Every name that a user may call it by."""
        path = self.report["real"] or ""
        names = {
            path,
            path.rpartition("/")[2],
            self.report["kernel"],
            self.report["serial"],
            self.report["wwn"],
        }
        links = {link.rpartition("/")[2] for link in self.report["links"]}
        # udev writes BUS-MODEL_SERIAL.
        names |= {*self.report["links"], *links, *(link.rpartition("_")[2] for link in links)}
        return {name for name in names if name}

    @property
    def confirmation(self) -> str:
        """What a user types to confirm that this disk is meant: its serial number, or else its stable name."""
        name = next(iter((self.report["approval"] or {}).values()), self.report["kernel"])
        return str(self.report["serial"] or name)

    @property
    def verdict(self) -> str:
        """``blank``, ``osd.N``, ``osd.N, unfinished`` or ``refused``."""
        osd = self.report["osd"]
        if self.report["state"] in ("osd", "unfinished") and osd:
            return f"osd.{osd['id']}" + (", unfinished" if self.report["state"] == "unfinished" else "")
        return str(self.report["state"])

    @property
    def on_it(self) -> str:
        """What is written on it, a few words."""
        return ", ".join(self.report["content"]) or (
            "nothing" if self.report["state"] == "blank" else "not known"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the disk as `avadm disk list --json` shows it."""
        taken = ("kernel", "real", "links", "serial", "wwn", "model", "size", "rotational", "content")
        report = {key: self.report[key] for key in taken}
        return {
            "node": self.node,
            **report,
            "approved": self.report["approved"],
            "verdict": self.verdict,
            "osd": self.report["osd"],
            "reasons": self.report["reasons"],
        }


def ask(
    fleet: Fleet, python: str, node: str, function: Function, given: object, timeout: float = TIMEOUT
) -> Any:
    """Have a function of avadm_node run on a node and return its answer.

    Raises:
        AvadmError: the node cannot be reached, or gave no answer.
    """
    return ask_all(fleet, python, function, {node: given}, timeout)[node]


def ask_all(
    fleet: Fleet, python: str, function: Function, given: Mapping[str, object], timeout: float = TIMEOUT
) -> dict[str, Any]:
    """Have a function of avadm_node run on nodes, on all at once; return node to its answer.

    Raises:
        AvadmError: nodes cannot be reached, or gave no answer; one finding of each.
    """
    answers: dict[str, Answer[Any]] = asking.ask(fleet, python, function, given, timeout=timeout)
    if silent := [_silent(node, answer) for node, answer in answers.items() if answer.value is None]:
        raise AvadmError(silent)
    return {node: answer.value for node, answer in answers.items()}


def _silent(node: str, answer: Answer[Any]) -> Finding:
    if answer.result.error is not None:
        return access.finding("disk-node", node, answer.result.error)
    return finding("disk-node", where=node, found=answer.why, wanted="an answer", host=node)


def survey(
    fleet: Fleet, site: Site, python: str, nodes: Sequence[Node], fsid: str = ""
) -> tuple[list[Disk], list[Finding]]:
    """Return all disks of the nodes, and a finding for each node that could not be asked."""
    given = {node.name: approvals(site, node, fsid) for node in nodes}
    answers: dict[str, Answer[Any]] = asking.ask(fleet, python, report.every, given, timeout=TIMEOUT)
    disks = [Disk(name, one) for name, answer in answers.items() for one in answer.value or ()]
    return disks, [_silent(name, answer) for name, answer in answers.items() if answer.value is None]


def choose(disks: Sequence[Disk], name: str) -> Disk | Finding:
    """Return the one disk that a user's name means, or what is wrong with the name."""
    found = [disk for disk in disks if name in disk.names]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(f"{d.report['kernel']} ({d.confirmation})" for d in found or disks)
    return finding(
        "disk-name-several" if found else "disk-name",
        where=name,
        found=shown or "no disk",
        wanted="the serial number, WWN, by-id path or kernel name of one disk",
        host=disks[0].node if disks else None,
    )
