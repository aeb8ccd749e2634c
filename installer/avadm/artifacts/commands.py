"""Runs the programs that make artifacts: argument lists, output to a log, ended when the verb is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

NOT_FOUND = 127
KEPT = 20
"""Lines of a command's output that are kept for an error message."""


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """A finished command: its exit status (127: no such program), standard output, and last lines of the rest."""

    rc: int
    stdout: str = ""
    stderr_lines: tuple[str, ...] = ()


class Commands(Protocol):
    """Runs commands on this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        heard: Callable[[str], None] = lambda line: None,
    ) -> CompletedCommand:
        """Run a command to its end; ``heard`` gets each line of its standard error. Never raises for what it does."""


class Stopped(Exception):
    """The verb was stopped while a command ran."""


@dataclass
class LocalCommands:
    """Commands on the machine itself, each in a process group of its own and niced: they may take all cores."""

    _running: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        heard: Callable[[str], None] = lambda line: None,
    ) -> CompletedCommand:
        """See Commands.run; Stopped where ``stop`` was called meanwhile."""
        messages: list[str] = []
        with log.open("a", encoding="utf-8") as out:
            out.write(f"$ {' '.join(argv)}\n")
            out.flush()
            try:
                with self._lock:
                    if self._stopped:
                        raise Stopped
                    child = subprocess.Popen(
                        ["nice", "-n", "10", *argv],
                        cwd=cwd,
                        env={**os.environ, "LC_ALL": "C", **env},
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                        errors="replace",
                        start_new_session=True,
                    )
                    self._running.add(child.pid)
            except FileNotFoundError as error:
                return CompletedCommand(
                    NOT_FOUND, stderr_lines=(f"{error.filename}: no such program or folder",)
                )
            try:
                stdout: list[str] = []
                assert child.stdout is not None and child.stderr is not None  # noqa: S101 - both are pipes
                reader = threading.Thread(target=stdout.extend, args=(child.stdout,))
                reader.start()
                for line in child.stderr:
                    out.write(line)
                    out.flush()
                    messages = [*messages[1 - KEPT :], line.rstrip()]
                    heard(line.rstrip())
                reader.join()
                rc = child.wait()
                out.writelines(stdout)
            finally:
                with self._lock:
                    self._running.discard(child.pid)
        if self._stopped:
            raise Stopped
        return CompletedCommand(rc, "".join(stdout), tuple(messages))

    def stop(self) -> None:
        """End what runs; nothing more is started."""
        with self._lock:
            self._stopped = True
            for pid in self._running:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGTERM)
