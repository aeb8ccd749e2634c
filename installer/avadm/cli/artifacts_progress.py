"""Shows which artifact is being made, with what, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from avadm.cli.output import visible
from avadm.cli.progress import HEARTBEAT_S, REFRESH_HZ
from avadm.cli.progress_model import duration

OVER = ("done", "there already", "failed")


@dataclass
class _Line:
    text: str = "waiting for its turn"
    begun: float | None = None
    ended: float | None = None


class Plain:
    """Lines for logs and pipes: each new step, and a long one again every half minute."""

    def __init__(
        self, names: Sequence[str], console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock
        self._lock = threading.Lock()
        self._lines = {name: _Line() for name in names}
        self._told: dict[str, tuple[str, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put right."""

    def __call__(self, name: str, text: str) -> None:
        """Take what is done with an artifact now: ``STEP`` or ``STEP: what its program says``."""
        now = self._clock()
        with self._lock:
            # One that was not asked for may be needed by another.
            line = self._lines.setdefault(name, _Line())
            line.text, line.begun = text, line.begun if line.begun is not None else now
            if text.partition(": ")[0] in OVER:
                line.ended = now
            self._show(name, line, now)

    def _show(self, name: str, line: _Line, now: float) -> None:
        step = line.text.partition(": ")[0]
        report, when = self._told.get(name, ("", 0.0))
        if step == report and now - when < HEARTBEAT_S:
            return
        self._told[name] = (step, now)
        stamp = time.strftime("%H:%M:%S")
        text = line.text if step == report else step
        self._console.print(Text(f"{stamp} {name:<18} {visible(text)[:150]}"))


class LiveLines(Plain):
    """One line per artifact, redrawn."""

    def __enter__(self) -> Self:
        self._live = Live(console=self._console, refresh_per_second=REFRESH_HZ, get_renderable=self.render)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def render(self) -> RenderableType:
        """Return all lines as they are now."""
        now = self._clock()
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        with self._lock:
            for name, line in self._lines.items():
                took = "" if line.begun is None else duration((line.ended or now) - line.begun)
                style = (
                    "red"
                    if line.text.startswith("failed")
                    else "green"
                    if line.ended
                    else "cyan"
                    if line.begun is not None
                    else "dim"
                )
                table.add_row(Text(name, style=style), Text(took), Text(visible(line.text)))
        return table

    def _show(self, name: str, line: _Line, now: float) -> None:
        """Nothing to print: the lines are redrawn."""


def display(names: Sequence[str], console: Console) -> Plain:
    """Return the display that fits the console."""
    return (LiveLines if console.is_terminal else Plain)(names, console)
