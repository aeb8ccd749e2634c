"""The docker command line, as data."""

from __future__ import annotations

import json
from typing import Any

from avadm_lab.process import CompletedCommand, Proc, run_checked

LABEL = "avadm.lab"
"""Every resource of a lab carries this label with the lab's name."""
LABEL_NODE = "avadm.node"
LABEL_FOLDER = "avadm.folder"


class Docker:
    """Runs docker; only what carries a lab's label is ever removed through it."""

    def __init__(self, proc: Proc) -> None:
        self.proc = proc

    def run(self, *args: str, stdin: bytes = b"", timeout: float = 60.0) -> CompletedCommand:
        """Run ``docker ARGS``."""
        return self.proc.run(["docker", *args], stdin=stdin, timeout=timeout)

    def must(self, doing: str, *args: str, stdin: bytes = b"", timeout: float = 60.0) -> str:
        """Run ``docker ARGS`` and return its stripped output; AvadmError where it fails."""
        return run_checked(self.run(*args, stdin=stdin, timeout=timeout), doing).stdout.strip()

    def alive(self) -> bool:
        """Whether a daemon answers."""
        return self.run("version", "--format", "{{.Server.Version}}", timeout=10).ok

    def info(self, field: str) -> str:
        """Return one field of ``docker info`` by its Go template."""
        return self.must("Asking the container engine", "info", "--format", field)

    def containers(self, lab: str) -> list[dict[str, Any]]:
        """Return ``docker inspect`` of every container of a lab, stopped and half-made ones too."""
        return self._inspect("container", "ps", "-a", "-q", "--no-trunc", "--filter", f"label={LABEL}={lab}")

    def networks(self, *filters: str) -> list[dict[str, Any]]:
        """Return ``docker inspect`` of every network (or of those that match the filters)."""
        args = [a for f in filters for a in ("--filter", f)]
        return self._inspect("network", "network", "ls", "-q", "--no-trunc", *args)

    def _inspect(self, kind: str, *listing: str) -> list[dict[str, Any]]:
        ids = self.must(f"Listing every {kind}", *listing).split()
        if not ids:
            return []
        # Something may go between the two commands: inspect prints what it finds, rc tells the rest.
        done = self.run(kind, "inspect", *ids)
        return list(json.loads(done.stdout or "[]"))
