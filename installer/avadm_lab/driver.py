"""What the lab asks of a driver: `docker` (containers) now, `qemu` (real kernels) later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from avadm_lab.layout import Disk, LabNode


class MachineState(StrEnum):
    """What a node is doing."""

    RUNNING = "running"
    STOPPED = "stopped"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node's state, and in words why it must be repaired ("" where all is well)."""

    state: MachineState
    fault: str = ""


class Reporter(Protocol):
    """How the lab tells what it is doing; the command line prints it."""

    def start(self, text: str) -> None:
        """Something that takes a while begins."""

    def done(self, text: str, seconds: float) -> None:
        """It ended well."""

    def note(self, text: str) -> None:
        """Something worth knowing."""


class Silent:
    """A reporter that says nothing."""

    def start(self, text: str) -> None:
        """Nothing."""

    def done(self, text: str, seconds: float) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


@contextmanager
def step(report: Reporter, text: str) -> Iterator[None]:
    """Report the beginning and the end of what the block does."""
    begun = time.monotonic()
    report.start(text)
    yield
    report.done(text, time.monotonic() - begun)


class Driver(Protocol):
    """Makes, repairs, and removes a lab's machines and network; all verbs may be repeated."""

    def owner(self) -> Path | None:
        """Return the folder of another lab that has this lab's name; None where it is free or ours."""

    def suit(self, nodes: list[LabNode]) -> None:
        """AvadmError where this machine cannot run these nodes, before anything is changed."""

    def prepare(self) -> bool:
        """Have engine and network ready; return whether anything had to be done."""

    def states(self, nodes: list[LabNode]) -> dict[str, NodeState]:
        """Return the state of each node, by name, without changing anything."""

    def ensure(self, nodes: list[LabNode]) -> list[str]:
        """Have every node running with sshd ready; return the names of those that were not."""

    def supply(self, nodes: list[LabNode]) -> list[str]:
        """Have what stands in for hardware on the (running) nodes; return the names of those that lacked it."""

    def host_key(self, node: LabNode) -> str:
        """Return a node's public ssh host key ("TYPE BASE64")."""

    def power(self, node: LabNode, on: bool) -> None:
        """Cut a node's power, or switch it on."""

    def discard(self, node: LabNode) -> list[str]:
        """Remove one node with its disks and its host key; return what was removed, in words."""

    def pull(self, node: LabNode, disk: Disk) -> None:
        """Pull a disk out of a running node, as it is."""

    def insert(self, node: LabNode, disk: Disk) -> None:
        """Insert a disk into an empty bay of a running node."""

    def remove(self) -> list[str]:
        """Remove all that the driver made for this lab; return what was removed, in words."""
