"""What the ledger can do for workbenches (interface.py says what holds for all methods)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from ava.domain.bench import AtDoor, Bench
from ava.domain.disks import Disk
from ava.domain.model import Run


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

    def stop_idle(self, run: str, now: datetime, seen: Bench, *, by: str) -> bool:
        """Ask for the end of a workbench that is still idle as it was seen; False where its user came in meanwhile."""

    def exempt_idle(self, definition: str, exempt: bool, now: datetime) -> None:
        """Choose whether a workbench is never stopped for being idle."""

    def is_idle_exempt(self, definition: str) -> bool:
        """Return whether a workbench is never stopped for being idle."""

    def benches_to_watch(self, cluster: str) -> Sequence[tuple[Run, Bench]]:
        """Return the workbenches of a cluster that run and may be stopped for being idle, each with what is kept of it."""

    def at_door(self, session: str, definition: str, now: datetime) -> AtDoor:
        """Return who comes by a session (its digest), and what is behind a workbench's door now."""

    def stay_open(
        self, pairs: Sequence[tuple[str, str]], now: datetime, entered_since: datetime | None = None
    ) -> Collection[tuple[str, str]]:
        """Return those pairs of a session's digest and a workbench that may go on: the owner's, and it is to run.

        ``entered_since``: the owner's last login must not be before.
        """

    def benches_of_key(self, line: str) -> Sequence[Run]:
        """Return the runs of workbenches, not asked to stop, of all who stored this ssh key and may log in."""

    def keys_stay(
        self, pairs: Sequence[tuple[str, Sequence[str]]], entered_since: datetime | None = None
    ) -> Sequence[bool]:
        """Return for each ssh key, and the workbenches that it has reached, whether it would still be let in to them."""

    def disk(self, definition: str) -> Disk | None:
        """Return a workbench's disk; None where it has none yet: the first start makes it."""

    def open_disks(self, cluster: str) -> Sequence[Disk]:
        """Return the disks of a cluster about which something is to be done or to be seen, oldest first."""

    def grow_disk(self, definition: str, size: int) -> None:
        """Have a workbench's disk be larger: now where it is made, else at the first start. Less than it has is refused."""

    def disk_seen(
        self, definition: str, node: str, size: int | None, trouble: str, *, settled: bool = False
    ) -> None:
        """Keep what was seen of a disk; ``size`` None: nobody knows at the moment, and what was known stays.

        ``settled``: its claim has said for a while what is wanted, so that what was promised beyond that counts no more.
        """

    def disk_gone(self, definition: str) -> None:
        """Forget the disk of a deleted workbench, of which nothing is left; its group may have others for it."""
