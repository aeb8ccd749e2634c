"""One lab verb at a time on a machine: two at once would be told the same free loop device or address."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from avadm_lab.driver import Reporter, step


@contextmanager
def exclusive(path: Path, report: Reporter) -> Iterator[None]:
    """Hold the lock while the block runs; the kernel frees it when the process ends, however that happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with step(report, "waiting for another `avadm lab`"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
