"""What is made once a run and judged by several checks, which may be made at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from avadm_validation.measuring.context import Context, MeasureError

T = TypeVar("T")
_LOCKS: dict[str, threading.Lock] = {}


def once(ctx: Context, key: str, kind: type[T], make: Callable[[Context], T]) -> T:
    """Return what the first check that asks has made; MeasureError for each where it could not be made.

    Args:
        ctx: the view of the check that asks.
        key: under which it is left for the run's other checks; others of another key are made meanwhile.
        kind: what it is.
        make: makes it.
    """
    with _LOCKS.setdefault(key, threading.Lock()):
        if key not in ctx.shared:
            try:
                ctx.shared[key] = make(ctx)
            except MeasureError as error:
                ctx.shared[key] = error
    found = ctx.shared[key]
    if isinstance(found, MeasureError):
        raise found
    assert isinstance(found, kind)  # noqa: S101
    return found


def own(ctx: Context, path: str) -> str:
    """Return a raw file that another check may have made as one of this check's own: its numbers come from those alone."""
    here = f"raw/{ctx.rec.check}/"
    return path if path.startswith(here) else ctx.rec.save(Path(path).name, ctx.read(path))
