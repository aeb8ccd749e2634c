"""What happens during a run, as data: the one event model that logs, progress and summary are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What an event tells. Those from PHASE_START on are the engine's, the others Ansible's."""

    TASK_START = "task_start"
    HOST_START = "host_start"
    OK = "ok"
    CHANGED = "changed"
    FAILED = "failed"
    IGNORED = "ignored"
    UNREACHABLE = "unreachable"
    SKIPPED = "skipped"
    RETRY = "retry"
    NO_HOSTS_LEFT = "no_hosts_left"
    STATS = "stats"
    LOG = "log"
    PHASE_START = "phase_start"
    PHASE_END = "phase_end"
    WAITING = "waiting"
    CHECK = "check"
    UNCHANGED = "unchanged"
    BECAUSE = "because"


FINISHED = frozenset({Kind.OK, Kind.CHANGED, Kind.FAILED, Kind.IGNORED, Kind.UNREACHABLE, Kind.SKIPPED})
"""Kinds that end one task on one host."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        time: epoch seconds on the controller.
        phase: the phase it belongs to.
        kind: see Kind.
        host: node name, where it is about one node.
        task: ``role : task`` as Ansible names it.
        seconds: how long it took (tasks and phases).
        message: one line for people: the error, the log line, the state a phase ended in.
        stdout: the last part of the command's output, on failure.
        stderr: likewise.
        remedy: what to do about it, where the check knows it (``check``).
        hosts: the nodes of a phase (``phase_start``).
        stats: host to counts ok, changed, failed, unreachable, skipped (``stats``).
        manages: what the task keeps on the host (runner/manages.py); not written to files.
    """

    time: float
    phase: str
    kind: Kind
    host: str | None = None
    task: str | None = None
    seconds: float | None = None
    message: str = ""
    stdout: str = ""
    stderr: str = ""
    remedy: str = ""
    hosts: tuple[str, ...] = ()
    stats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    manages: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON-ready data without its empty fields."""
        out: dict[str, Any] = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value is None or value == "" or value == () or value == {}:
                continue
            out[name] = list(value) if isinstance(value, tuple) else value
        out["time"] = round(self.time, 3)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Event:
        """Return the event that as_dict wrote."""
        known = {k: v for k, v in data.items() if k in _NAMES}
        known["kind"] = Kind(known["kind"])
        known["hosts"] = tuple(known.get("hosts", ()))
        return cls(**known)


_NAMES = tuple(f.name for f in fields(Event) if f.name != "manages")
