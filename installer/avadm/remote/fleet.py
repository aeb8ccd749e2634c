"""What code that reads nodes may ask of an ssh fan-out; the adapter is runner/ssh.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from avadm.remote.reason import Reason

if TYPE_CHECKING:
    from avadm.remote.connect import Target


@dataclass(frozen=True, slots=True)
class Result:
    """What one command on one node did.

    Attributes:
        node: node name.
        command: the shell command line that ran.
        rc: exit status; 255 with ``error`` set when the node could not be reached; 124 on time-out.
        stdout: standard output, decoded as UTF-8 with replacement.
        stderr: standard error, likewise.
        started: epoch seconds on the controller's clock when the command was sent.
        seconds: wall time from then on.
        error: why the command could not run (unreachable, host key changed, time-out), else None.
    """

    node: str
    command: str
    rc: int
    stdout: str
    stderr: str
    started: float
    seconds: float
    error: Reason | None = None

    @property
    def ok(self) -> bool:
        """Whether the command ran and exited 0."""
        return self.error is None and self.rc == 0

    @property
    def complaint(self) -> str:
        """The last line that a failed command wrote to stderr, 300 characters at most; its exit status where it wrote none."""
        return (self.stderr.strip() or f"exit status {self.rc}").split("\n")[-1][:300]


class Fleet(Protocol):
    """Commands and files on nodes, by node name; never raises for what a node does."""

    def run(self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Result:
        """Run one shell command as root on one node."""

    def map(
        self, commands: Mapping[str, str], *, timeout: float = 60.0, stdin: bytes | None = None
    ) -> dict[str, Result]:
        """Run one command per node, all nodes at once."""

    def put(self, node: str, content: bytes, path: str, *, mode: int = 0o644) -> Result:
        """Write a file on a node as root (atomically)."""

    def join(self, targets: Iterable[Target]) -> None:
        """Reach further nodes too, with the host keys that are pinned by now."""

    def close(self, nodes: Iterable[str] | None = None) -> None:
        """Drop connections."""
