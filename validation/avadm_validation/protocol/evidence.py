"""Evidence: raw tool output on disk with its sha256, and every command that ran."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from avadm_validation.protocol.fleet import Fleet, Result
from avadm_validation.protocol.model import Command


def sha256(path: Path) -> str:
    """Return the hex sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Recorder:
    """Runs commands for one check and keeps what they printed below ``FOLDER/raw/CHECK/``.

    Args:
        fleet: the nodes.
        folder: the report's folder.
        check: id of the check, names the subfolder.
        patience: by how many times limits of commands are longer now than on an idle machine.
    """

    def __init__(
        self, fleet: Fleet, folder: Path, check: str, patience: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.fleet = fleet
        self.folder = folder
        self.check = check
        self._patience = patience
        self.commands: list[Command] = []
        self.evidence: list[str] = []

    def run(self, node: str, command: str, name: str, *, timeout: float = 60.0) -> Result:
        """Run one command on one node and keep its output as ``NNN-name-node.out``."""
        result = self.fleet.run(node, command, timeout=timeout * self._patience())
        self.keep(result, name)
        return result

    def map(self, commands: Mapping[str, str], name: str, *, timeout: float = 60.0) -> Mapping[str, Result]:
        """Run one command per node at once and keep each output."""
        results = self.fleet.map(commands, timeout=timeout * self._patience())
        for node in commands:
            self.keep(results[node], name)
        return results

    def keep(self, result: Result, name: str) -> str | None:
        """Record a command and its output; return the path of its standard output, None where it printed none."""
        serial = f"{len(self.commands):03d}-{re.sub(r'[^A-Za-z0-9.-]+', '-', name)}-{result.node}"
        path = self.save(f"{serial}.out", result.stdout) if result.stdout else None
        if result.stderr.strip() or result.error:
            self.save(f"{serial}.err", result.stderr + (f"\n[{result.error}]\n" if result.error else ""))
        self.commands.append(
            Command(
                node=result.node,
                command=result.command,
                started=result.started,
                seconds=result.seconds,
                rc=result.rc,
                stdout_path=path,
            )
        )
        return path

    def save(self, name: str, text: str) -> str:
        """Write a raw file of this check; return its path relative to the report's folder."""
        path = self.folder / "raw" / self.check / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        relative = path.relative_to(self.folder).as_posix()
        self.evidence.append(relative)
        return relative

    def last(self, node: str) -> str:
        """Return the path of the newest standard output of a node; LookupError where there is none."""
        for command in reversed(self.commands):
            if command.node == node and command.stdout_path:
                return command.stdout_path
        raise LookupError(f"{node} has printed nothing in check {self.check}")
