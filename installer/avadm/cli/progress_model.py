"""What a run is doing right now, from its events alone; drawing is in progress.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from avadm.remote.events import FINISHED, Event, Kind


@dataclass(slots=True)
class PhaseView:
    """One phase as the display needs it.

    Attributes:
        name: the phase.
        total: how many nodes take part.
        state: ``pending``, ``running``, ``done``, ``failed``, ``canceled``, ``unchanged`` or ``waiting``.
        started: epoch seconds, None before it starts.
        seconds: how long it took, once ended.
        task: the task that runs.
        working: host to the time since when it works at the current task.
        finished: hosts that are through with the current task.
        bad: hosts that failed or cannot be reached, with the first line of why.
        changed: how many tasks changed something.
        note: why the phase is not started.
    """

    name: str
    total: int
    state: str = "pending"
    started: float | None = None
    seconds: float = 0.0
    task: str = ""
    working: dict[str, float] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)
    changed: int = 0
    note: str = ""

    def elapsed(self, now: float) -> float:
        """Return how many seconds the phase has run."""
        if self.state == "running" and self.started is not None:
            return max(0.0, now - self.started)
        return self.seconds

    def waited_for(self, now: float) -> list[tuple[str, float]]:
        """Return the hosts that the current task waits for, with seconds, longest first."""
        # A copy: the display's own thread asks this while the phases' threads add events.
        working = self.working.copy()
        return sorted(((h, max(0.0, now - t)) for h, t in working.items()), key=lambda x: (-x[1], x[0]))


class Model:
    """All phases of a run.

    Args:
        phases: phase to its nodes, in order.
        groups: node to the name of its group in the display (its first role).
    """

    def __init__(self, phases: Mapping[str, Sequence[str]], groups: Mapping[str, str] | None = None) -> None:
        self.phases = {name: PhaseView(name, len(hosts)) for name, hosts in phases.items()}
        self.groups = dict(groups or {})

    def add(self, event: Event) -> None:
        """Take one event into account."""
        view = self.phases.setdefault(event.phase, PhaseView(event.phase, len(event.hosts)))
        match event.kind:
            case Kind.PHASE_START:
                view.state, view.started, view.total = "running", event.time, len(event.hosts)
            case Kind.PHASE_END:
                view.state, view.seconds = event.message, event.seconds or 0.0
                view.working.clear()
            case Kind.UNCHANGED:
                view.state, view.note = "unchanged", event.message
            case Kind.WAITING:
                view.state, view.note = "waiting", event.message
            case Kind.TASK_START:
                view.task = event.task or ""
                view.working.clear()
                view.finished.clear()
            case Kind.HOST_START if event.host:
                view.working[event.host] = event.time
            case kind if kind in FINISHED and event.host:
                self._finish(view, event, event.host)

    @staticmethod
    def _finish(view: PhaseView, event: Event, host: str) -> None:
        view.working.pop(host, None)
        view.finished.add(host)
        view.changed += event.kind is Kind.CHANGED
        if event.kind in (Kind.FAILED, Kind.UNREACHABLE):
            view.bad[host] = first_line(event.message)

    def waiting_groups(self, view: PhaseView, now: float) -> list[tuple[str, int, list[tuple[str, float]]]]:
        """Return (group, hosts at this task or through with it, hosts waited for) of groups at work."""
        groups: dict[str, list[tuple[str, float]]] = {}
        for host, seconds in view.waited_for(now):
            groups.setdefault(self.groups.get(host, "nodes"), []).append((host, seconds))
        everyone = set(view.working) | view.finished
        return [
            (name, sum(self.groups.get(h, "nodes") == name for h in everyone), hosts)
            for name, hosts in sorted(groups.items())
        ]


def first_line(text: str, width: int = 160) -> str:
    """Return the first line that says something, cut to a width."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= width else line[: width - 1] + "…"


def duration(seconds: float) -> str:
    """Return seconds for people: ``8 s``, ``2 min 05 s``, ``1 h 03 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
