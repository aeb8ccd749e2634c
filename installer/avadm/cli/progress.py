"""Showing a run while it runs: live lines on a terminal, plain lines elsewhere; fed by events only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from avadm.cli.progress_model import Model, PhaseView, duration, first_line
from avadm.engine.recorder import Display
from avadm.engine.request import Notes, Show
from avadm.plan.graph import ScheduledPhase
from avadm.remote.events import Event, Kind
from avadm.site.model import Site

REFRESH_HZ = 1.5
"""Redraws a second: one costs 5 ms with 256 nodes at work, so that this stays under 1 % of a core."""
PLAIN_EVERY_S = 5.0
"""Without a terminal a task is told at most this often per phase; failures at once."""
LONG_S = 3.0
"""A host is named as waited for after this many seconds on one task."""
HEARTBEAT_S = 30.0
"""Without a terminal a long task is told again this often, with who is waited for."""

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
        self._told: dict[str, float] = {}

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
            case Kind.TASK_START if event.time - self._told.get(event.phase, 0.0) >= PLAIN_EVERY_S:
                self._say(event, event.task or "")
            case _:
                self._long(event, view)

    def _long(self, event: Event, view: PhaseView) -> None:
        if event.time - self._told.get(event.phase, event.time) < HEARTBEAT_S or not view.working:
            return
        host, seconds = view.waited_for(event.time)[0]
        more = f" and {len(view.working) - 1} more" if len(view.working) > 1 else ""
        self._say(event, f"{view.task}: waiting for {host}{more}, {duration(seconds)}")

    def _say(self, event: Event, text: str) -> None:
        self._told[event.phase] = event.time
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
