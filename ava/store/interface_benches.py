"""What the ledger can do for workbenches (interface.py says what holds for all methods)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from ava.domain.bench import AtDoor, Bench
from ava.domain.model import Run, User


class Benches(Protocol):
    """Workbenches."""

    def bench(self, definition: str) -> Bench | None:
        """Return what a workbench keeps over its runs; None before its first one."""

    def make_bench(self, new: Bench) -> Bench:
        """Keep it for a definition that has none, and return what is kept: done twice, the first stays."""

    def bench_active(self, definition: str, active: datetime) -> None:
        """Keep that its user was at work in it; an earlier time than the known one changes nothing."""

    def bench_warn(self, run: str, now: datetime, until: datetime) -> bool:
        """Tell the owner that an idle workbench is stopped at ``until``; once for each idle stretch, else False."""

    def at_door(self, session: str, definition: str, now: datetime) -> AtDoor:
        """Return who comes by a session (its id), and what is behind a workbench's door now."""

    def sessions_alive(self, ids: Sequence[str], now: datetime) -> Mapping[str, User]:
        """Return whose those sessions are that have not ended, by id."""

    def benches_of_key(self, line: str) -> Sequence[Run]:
        """Return the runs of workbenches, not asked to stop, of all who stored this ssh key and may log in."""
