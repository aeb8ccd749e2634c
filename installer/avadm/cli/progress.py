"""Showing a run while it runs: live lines on a terminal, plain lines elsewhere; fed by events only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from avadm.engine.recorder import Display
from avadm.engine.request import Notes, Show
from avadm.plan.graph import ScheduledPhase
from avadm.remote.events import FINISHED, Event, Kind
from avadm.site.model import Site


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


REFRESH_HZ = 1.5
"""Redraws a second: one costs 5 ms with 256 nodes at work, so that this stays under 1 % of a core."""
PLAIN_EVERY_S = 5.0
"""Without a terminal a task is reported at most this often per phase; failures at once."""
LONG_S = 3.0
"""A host is named as waited for after this many seconds on one task."""
HEARTBEAT_S = 30.0
"""Without a terminal a long task is reported again this often, with who is waited for."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MARK = {
    "done": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "canceled": ("■", "yellow"),
    "waiting": ("…", "yellow"),
}


def displays(console: Console, *, quiet: bool = False) -> Show:
    """Return what makes the display of a run."""

    def make(site: Site, steps: Sequence[ScheduledPhase]) -> Display:
        groups = {n.name: n.roles[0] for n in site.nodes if n.roles}
        return display(Model({s.name: s.hosts for s in steps}, groups), console, quiet=quiet)

    return make


def printed_notes(console: Console) -> Notes:
    """Return notes that are printed."""
    return Notes(lambda text: console.print(Text(f"! {text}", style="yellow")))


def display(model: Model, console: Console, *, quiet: bool = False) -> Display:
    """Return the display that fits the console."""
    if quiet:
        return Quiet(model)
    return LiveDisplay(model, console) if console.is_terminal else Plain(model, console)


class Quiet:
    """Shows nothing."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put right."""

    def __call__(self, event: Event) -> None:
        """Keep the model up to date."""
        self.model.add(event)


class Plain(Quiet):
    """Lines for logs and pipes: phases, tasks now and then, failures at once, long waits."""

    def __init__(self, model: Model, console: Console) -> None:
        super().__init__(model)
        self._console = console
        self._last_shown: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Print what is worth a line."""
        self.model.add(event)
        view = self.model.phases[event.phase]
        match event.kind:
            case Kind.PHASE_START:
                self._say(event, f"started on {view.total} {_nodes(view.total)}")
            case Kind.PHASE_END:
                self._say(
                    event, f"{event.message} after {duration(view.seconds)}{_changed(view)}{_bad(view)}"
                )
            case Kind.UNCHANGED:
                self._say(event, f"unchanged ({event.message})")
            case Kind.BECAUSE:
                self._say(event, f"has to run: {event.message}")
            case Kind.WAITING:
                self._say(event, f"not started: {event.message}")
            case Kind.FAILED | Kind.UNREACHABLE:
                text = f"{event.kind.upper()} {event.host}: {event.task}: {first_line(event.message)}"
                self._say(event, text)
            case Kind.CHECK:
                self._say(event, f"FAILED versions check: {event.host or ''} {first_line(event.message)}")
            case Kind.TASK_START if event.time - self._last_shown.get(event.phase, 0.0) >= PLAIN_EVERY_S:
                self._say(event, event.task or "")
            case _:
                self._long(event, view)

    def _long(self, event: Event, view: PhaseView) -> None:
        if event.time - self._last_shown.get(event.phase, event.time) < HEARTBEAT_S or not view.working:
            return
        host, seconds = view.waited_for(event.time)[0]
        more = f" and {len(view.working) - 1} more" if len(view.working) > 1 else ""
        self._say(event, f"{view.task}: waiting for {host}{more}, {duration(seconds)}")

    def _say(self, event: Event, text: str) -> None:
        self._last_shown[event.phase] = event.time
        stamp = time.strftime("%H:%M:%S", time.localtime(event.time))
        self._console.print(Text(f"{stamp} {event.phase:<11} {text}"))


class LiveDisplay(Quiet):
    """One line per phase, redrawn; under a running one a line per group of hosts that is waited for."""

    def __init__(self, model: Model, console: Console, clock: Callable[[], float] = time.time) -> None:
        super().__init__(model)
        self._console = console
        self._clock = clock
        self._live = Live(
            console=console, refresh_per_second=REFRESH_HZ, get_renderable=self.render, transient=False
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A terminal that went away must not hide how the run ended.
        with suppress(OSError):
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Update the model; failures are printed above the live lines at once."""
        self.model.add(event)
        if event.kind in (Kind.FAILED, Kind.UNREACHABLE):
            what = "cannot be reached" if event.kind is Kind.UNREACHABLE else f"failed: {event.task}"
            line = Text(f"✗ {event.phase} {event.host} {what}: {first_line(event.message)}", style="red")
            self._console.print(line)
        elif event.kind is Kind.BECAUSE:
            self._console.print(Text(f"· {event.phase} has to run: {event.message}", style="dim"))

    def render(self) -> RenderableType:
        """Return all lines as they are now."""
        now = self._clock()
        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        # A copy: events come in from other threads while this one draws.
        for view in self.model.phases.copy().values():
            self._phase(table, view, now)
        return table

    def _phase(self, table: Table, view: PhaseView, now: float) -> None:
        mark, style = _MARK.get(view.state, ("·", "dim"))
        if view.state == "running":
            mark, style = _SPINNER[int(now * REFRESH_HZ) % len(_SPINNER)], "cyan"
        elapsed = duration(view.elapsed(now)) if view.started is not None else ""
        text = view.task if view.state == "running" else f"{view.state}{_changed(view)}"
        if view.state in ("pending", "waiting"):
            text = view.note
        elif view.state == "unchanged":
            text = f"unchanged ({view.note})"
        busy = view.state == "running" and (view.finished or view.working)
        total = len(view.finished) + len(view.working)
        hosts = f"{len(view.finished)}/{total}" if busy else f"{view.total} {_nodes(view.total)}"
        cells = (mark, view.name, hosts, elapsed, text + _bad(view))
        table.add_row(*(Text(c, style=style if i < 2 or view.bad else "") for i, c in enumerate(cells)))
        if view.state == "running":
            for group, total, waited in self.model.waiting_groups(view, now):
                if waited[0][1] >= LONG_S:
                    names = ", ".join(h for h, _ in waited[:4]) + (" …" if len(waited) > 4 else "")
                    row = f"waiting for {names}"
                    through = f"{total - len(waited)}/{total}"
                    cells = ("", f"  {group}", through, duration(waited[0][1]), row)
                    table.add_row(*(Text(c, style="dim") for c in cells))


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"


def _changed(view: PhaseView) -> str:
    if view.state != "done":
        return ""
    return f", {view.changed} changed" if view.changed else ", nothing changed"


def _bad(view: PhaseView) -> str:
    return f"; in trouble: {', '.join(sorted(view.bad))}" if view.bad else ""
