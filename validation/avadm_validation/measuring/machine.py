"""How busy the controller's machine is while checks are made: in a lab, all nodes share it.

A thread compresses the same bytes every few seconds and notes how long that took beside what it takes on an idle machine of the
kind that the lab's thresholds were set on, with the kernel's run queue and pressure figures
(https://docs.kernel.org/accounting/psi.html). Its raw file is evidence like any other.
"""

from __future__ import annotations

import json
import random
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from avadm_validation.protocol.load import FILE, Look, Machine, between, parse, recent

EVERY_SECONDS = 5.0
"""Time between two looks."""
RECENT_SECONDS = 30.0
"""What the present load is judged by."""
MAX_PATIENCE = 4.0
"""Waits become at most this many times as long."""
_REFERENCE_MS = 53.0
"""Time of `_compute` where nothing else wants the core: the least CPU time of 60 on a machine of two cores (2026-11-26)."""
_TEXT = bytes(random.Random(1).choices(b"abcdefgh ", k=500_000))  # noqa: S311 - the same bytes on each machine


def _compute() -> float:
    """Return how many milliseconds a fixed computation takes; zlib lets other threads run meanwhile."""
    begun = time.perf_counter()
    zlib.compress(_TEXT, 6)
    return (time.perf_counter() - begun) * 1000


def _pressure(resource: str) -> float:
    """Return the seconds so far in which some task waited for a resource; 0 where the kernel does not count."""
    try:
        first = Path("/proc/pressure", resource).read_text(encoding="ascii").splitlines()[0]
    except (OSError, IndexError):
        return 0.0
    return int(first.rpartition("total=")[2]) / 1e6


def _run_queue() -> int:
    """Return how many tasks run or wait for a core; 0 where the kernel does not tell."""
    try:
        return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0])
    except (OSError, IndexError, ValueError):
        return 0


def look() -> Look:
    """Look once; takes about 0.03 s of a core."""
    return Look(
        t=time.time(),
        slowdown=round(_compute() / _REFERENCE_MS, 3),
        running=_run_queue(),
        cpu=round(_pressure("cpu"), 3),
        io=round(_pressure("io"), 3),
        memory=round(_pressure("memory"), 3),
    )


class Watch:
    """Looks at the machine from `watched` to its end.

    Args:
        folder: of the report; the looks are kept there.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="machine")

    def start(self) -> None:
        """Look once, then again and again beside the caller."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._note()
        self._thread.start()

    def stop(self) -> None:
        """End the looks."""
        self._over.set()
        self._thread.join(EVERY_SECONDS + 60)

    def since(self, began: float) -> Machine:
        """Return the load from ``began``, epoch seconds, until now; looks now, so that a short check has a look too."""
        self._note()
        looks = self._looks()
        # Ends with a look: what is written later is later, so that ``verify`` finds the same looks.
        return between(looks, min(began, looks[-1].t), looks[-1].t)

    def patience(self) -> float:
        """Return how many times as long as on an idle machine to wait for something, from 1 to `MAX_PATIENCE`."""
        return min(recent(self._looks(), time.time() - RECENT_SECONDS), MAX_PATIENCE)

    def _watch(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            self._note()

    def _note(self) -> None:
        found = look().model_dump()
        with self._lock, self._path.open("a", encoding="ascii") as out:
            out.write(json.dumps({**found, "t": time.time()}) + "\n")

    def _looks(self) -> list[Look]:
        with self._lock:
            return parse(self._path.read_text(encoding="ascii"))


_current: Watch | None = None


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    """Look at the machine while the block runs; `patience` is by this watch meanwhile."""
    global _current
    watch = Watch(folder)
    watch.start()
    _current = watch
    try:
        yield watch
    finally:
        _current = None
        watch.stop()


def patience() -> float:
    """Return how many times as long as on an idle machine to wait; 1 where nothing is watched."""
    watch = _current
    return watch.patience() if watch else 1.0


if __name__ == "__main__":
    times = sorted(_compute() for _ in range(50))
    print(f"{times[25]:.1f} ms, from {times[0]:.1f} to {times[-1]:.1f}")
