"""A machine that exists only in memory: commands, loop devices and containers for the lab's unit tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from avadm_lab.process import CompletedCommand

Answer = CompletedCommand | Callable[[tuple[str, ...]], CompletedCommand]


class FakeProc:
    """Answers commands by the first rule whose pattern matches; remembers all of them."""

    def __init__(self) -> None:
        self.rules: list[tuple[str, Callable[[tuple[str, ...]], tuple[int, str, str]]]] = []
        self.calls: list[str] = []
        self.stdins: dict[str, bytes] = {}
        self.spawned: list[list[str]] = []
        self.on_spawn: Callable[[Sequence[str]], int] = lambda argv: 1

    def on(self, pattern: str, stdout: str = "", rc: int = 0, stderr: str = "") -> None:
        """Answer matching commands; a later rule goes before an earlier one."""
        self.rules.insert(0, (pattern, lambda argv: (rc, stdout, stderr)))

    def call(self, pattern: str, answer: Callable[[tuple[str, ...]], tuple[int, str, str]]) -> None:
        """Answer matching commands by a function of their arguments."""
        self.rules.insert(0, (pattern, answer))

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> CompletedCommand:
        line = " ".join(argv)
        self.calls.append(line)
        if stdin:
            self.stdins[line] = stdin
        for pattern, answer in self.rules:
            if re.search(pattern, line):
                return CompletedCommand(tuple(argv), *answer(tuple(argv)))
        return CompletedCommand(tuple(argv), 0)

    def spawn(self, argv: Sequence[str], log: Path) -> int:
        self.spawned.append(list(argv))
        return self.on_spawn(argv)

    def ran(self, pattern: str) -> list[str]:
        """Return the command lines that were run and match."""
        return [c for c in self.calls if re.search(pattern, c)]


class FakeLoops:
    """losetup, as far as the lab uses it."""

    def __init__(self, proc: FakeProc, taken: Mapping[int, str] | None = None) -> None:
        self.at: dict[int, str] = dict(taken or {})
        proc.call(r"^losetup --list", lambda argv: (0, self._list(), ""))
        proc.call(r"^losetup --find$", lambda argv: (0, f"/dev/loop{self._free()}\n", ""))
        proc.call(r"^losetup --detach", self._detach)
        proc.call(r"^losetup /dev/loop", self._attach)

    def _free(self) -> int:
        return next(n for n in range(100) if n not in self.at)

    def _list(self) -> str:
        if not self.at:
            return ""
        return json.dumps(
            {"loopdevices": [{"name": f"/dev/loop{n}", "back-file": f} for n, f in self.at.items()]}
        )

    def _detach(self, argv: tuple[str, ...]) -> tuple[int, str, str]:
        del self.at[int(argv[-1].removeprefix("/dev/loop"))]
        return 0, "", ""

    def _attach(self, argv: tuple[str, ...]) -> tuple[int, str, str]:
        n = int(argv[1].removeprefix("/dev/loop"))
        if n in self.at:
            return 1, "", "Device or resource busy"
        self.at[n] = argv[2]
        return 0, "", ""


class Reporter:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[str] = []

    def start(self, text: str) -> None:
        self.steps.append(text)

    def done(self, text: str, seconds: float) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)
