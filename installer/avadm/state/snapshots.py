"""What each phase left behind, as values of its items; kept beside the state (drift/collector.py asks for them)."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from avadm.errors import DAMAGE
from avadm.state.run_folder import write_atomic

VERSION = 1
WHOLE = ""
"""The name under which the cluster's items are asked, beside those of hosts."""
OF = "@"
"""What stands before a host's name where the cluster's items that its tasks keep are kept."""
WRONG = "!"
"""What a value begins with that is wrong in itself."""


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """What one phase left on one host, or what its tasks on that host left in the cluster.

    Attributes:
        run: id of the run that left it so: a state entry of another run says that it is out of date.
        host: where the tasks ran.
        values: item to value.
    """

    run: str
    host: str
    values: Mapping[str, str]


class SnapshotStore:
    """The fingerprints of a site on disk (0600); safe to use from the threads of one run.

    Args:
        path: the JSON file. Where it is missing or cannot be understood nothing counts as proven.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._phases: dict[str, dict[str, HostSnapshot]] = {}
        try:
            self._load(json.loads(path.read_text(encoding="utf-8")))
        except DAMAGE:
            self.salt = secrets.token_hex(16)

    def _load(self, data: Mapping[str, Any]) -> None:
        if data["version"] != VERSION:
            raise ValueError(data["version"])
        self.salt = str(data["salt"])
        self._phases = {
            # An older release kept all of the cluster's items under one name.
            phase: {
                host or OF + p["host"]: HostSnapshot(p["run"], p["host"], dict(p["values"]))
                for host, p in hosts.items()
            }
            for phase, hosts in data["phases"].items()
        }

    def replace(self, data: Mapping[str, Any], *, write: bool = True) -> None:
        """Take over what `as_dict` gave, here and (unless ``write`` is false) on disk; ValueError … for anything else."""
        with self._lock:
            self._load(data)
            if write:
                self._save()

    def get(self, phase: str, host: str) -> HostSnapshot | None:
        """Return what a phase left on a host."""
        return self._phases.get(phase, {}).get(host)

    def of_cluster(self, phase: str) -> list[HostSnapshot]:
        """Return what a phase left in the cluster, one for each host whose tasks keep something there."""
        return [p for name, p in self._phases.get(phase, {}).items() if name.startswith(OF)]

    def keep(self, phase: str, prints: Mapping[str, HostSnapshot]) -> None:
        """Keep what a phase left; hosts that are not named stay as they were.

        An item of the cluster belongs to the run that kept it last: a run on a few nodes replaces the items that it kept itself.
        """
        newer = {item for name, p in prints.items() if name.startswith(OF) for item in p.values}
        with self._lock:
            kept = self._phases.setdefault(phase, {})
            for name, p in list(kept.items()):
                if name.startswith(OF):
                    left = {} if p.host in prints else {i: v for i, v in p.values.items() if i not in newer}
                    kept[name] = HostSnapshot(p.run, p.host, left)
                    if not left:
                        del kept[name]
            kept.update(prints)
            self._save()

    def forget(self, host: str) -> None:
        """Forget what phases left on a node, and in the cluster by their tasks there: the node left the site."""
        with self._lock:
            for kept in self._phases.values():
                for name in (host, OF + host):
                    kept.pop(name, None)
            self._save()

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(self.as_dict(), indent=1) + "\n")

    def as_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready data; it says nothing of secrets to anyone who has not the salt."""
        phases = {
            phase: {h: {"run": p.run, "host": p.host, "values": dict(p.values)} for h, p in hosts.items()}
            for phase, hosts in self._phases.items()
        }
        return {"version": VERSION, "salt": self.salt, "phases": phases}
