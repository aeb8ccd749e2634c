"""Where all events of a run pass: into events.jsonl, log.txt, the summary, and on to the progress display."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TextIO

from avadm.engine.summary import Summary
from avadm.quantity import quantity
from avadm.remote.events import Event, Kind
from avadm.state.run_folder import RunFolder


class Display(Protocol):
    """A context manager that is handed every event."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __call__(self, event: Event) -> None:
        """Show one event."""


class Recorder:
    """Writes and passes on events of several threads, one at a time; a context manager.

    Args:
        folder: the run folder.
        on_event: gets every event after it was written.
    """

    def __init__(self, folder: RunFolder, on_event: Callable[[Event], None] | None = None) -> None:
        self.summary = Summary()
        self._on_event = on_event
        self._managed: dict[str, dict[str, dict[str, None]]] = {}
        self._lock = threading.Lock()
        self._events = _private(folder.path / "events.jsonl")
        self._log = _private(folder.log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._events.close()
            self._log.close()

    def __call__(self, event: Event) -> None:
        """Record one event."""
        with self._lock:
            # Line-buffered: what was reported survives a kill -9.
            self._events.write(json.dumps(event.as_dict(), ensure_ascii=False) + "\n")
            if line := log_lines(event):
                self._log.write(line)
            self.summary.add(event)
            if event.manages and event.host:
                hosts = self._managed.setdefault(event.phase, {})
                hosts.setdefault(event.host, {}).update(dict.fromkeys(event.manages))
            if self._on_event is not None:
                # A terminal that goes away must not stop an installation.
                with suppress(OSError):
                    self._on_event(event)

    def note(self, text: str) -> None:
        """Write a note into the log for people."""
        with self._lock:
            self._log.write(f"{datetime.now(UTC):%H:%M:%S} {'avadm':<11}     {text}\n")

    def managed(self, phase: str) -> dict[str, tuple[str, ...]]:
        """Return host to the items that the tasks of a phase stand for (runner/manages.py)."""
        with self._lock:
            return {host: tuple(items) for host, items in self._managed.get(phase, {}).items()}

    def dead(self) -> list[str]:
        """Return the hosts that cannot be reached so far."""
        with self._lock:
            return self.summary.dead


def log_lines(event: Event) -> str:
    """Return what the log for people says of an event, with its line ends; "" where nothing."""
    stamp = f"{datetime.fromtimestamp(event.time, UTC):%H:%M:%S} {event.phase:<11}"
    match event.kind:
        case Kind.HOST_START | Kind.SKIPPED:
            return ""
        case Kind.TASK_START:
            return f"{stamp}---- {event.task}\n"
        case Kind.PHASE_START:
            return f"{stamp}==== start on {quantity(len(event.hosts), 'host')}: {' '.join(event.hosts)}\n"
        case Kind.PHASE_END:
            return f"{stamp}==== {event.message} after {event.seconds or 0:.1f} s\n"
        case Kind.UNCHANGED | Kind.BECAUSE:
            return f"{stamp}==== {event.kind}: {event.message}\n"
        case Kind.LOG:
            return "".join(f"{stamp}     {line}\n" for line in event.message.splitlines())
        case Kind.STATS:
            return "".join(
                f"{stamp}     {host}: " + ", ".join(f"{k} {v}" for k, v in counts.items() if v) + "\n"
                for host, counts in event.stats.items()
            )
    took = f" ({event.seconds:.1f} s)" if event.seconds is not None else ""
    text = f"{stamp}{event.kind:<11} {event.host or '':<12}{took}"
    if event.kind in (Kind.FAILED, Kind.UNREACHABLE, Kind.IGNORED):
        text += f" {event.task}"
    text = f"{text} {event.message}".rstrip() + "\n"
    for name, tail in (("stdout", event.stdout), ("stderr", event.stderr)):
        text += "".join(f"{stamp}  {name}| {line}\n" for line in tail.splitlines())
    return text


def _private(path: Path) -> TextIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "w", encoding="utf-8", buffering=1, errors="replace")
