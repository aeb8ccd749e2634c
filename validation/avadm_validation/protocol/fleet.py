"""What a suite may ask of the nodes: the same shape as ``avadm.remote.fleet``, declared here to stay apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Result(Protocol):
    """What one command on one node did."""

    @property
    def node(self) -> str:
        """Node name."""

    @property
    def command(self) -> str:
        """Shell command line."""

    @property
    def rc(self) -> int:
        """Exit status; 255 when unreachable, 124 on time-out."""

    @property
    def stdout(self) -> str:
        """Standard output."""

    @property
    def stderr(self) -> str:
        """Standard error."""

    @property
    def started(self) -> float:
        """Epoch seconds on the controller's clock."""

    @property
    def seconds(self) -> float:
        """Wall time."""

    @property
    def error(self) -> str | None:
        """Why the command could not run, else None."""


class Fleet(Protocol):
    """Commands and files on nodes, by node name; never raises for what a node does."""

    def run(self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Result:
        """Run one shell command as root on one node."""

    def map(
        self, commands: Mapping[str, str], *, timeout: float = 60.0, stdin: bytes | None = None
    ) -> Mapping[str, Result]:
        """Run one command per node, all nodes at once."""

    def put(self, node: str, content: bytes, path: str, *, mode: int = 0o644) -> Result:
        """Write a file on a node as root."""
