"""A step for each of many things: one that fails is reported, and the others have their turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from ava.domain.problems import ApiError
from ava.kube.errors import Fenced, KubeError, Unavailable

log = logging.getLogger(__name__)
T = TypeVar("T")
AWAY = 3
"""After so many things in a row for which the database or the API server did not answer, it is they who are unreachable."""


async def for_each(what: str, items: Iterable[T], step: Callable[[T], Awaitable[object]]) -> int:
    """Take a step for each item; return how many failed.

    Args:
        what: names the step in the log.
        items: what is gone through; the log has the name of each, never what is in it.
        step: may raise whatever it likes.

    Raises Fenced where the lead is lost, and the last error where ``AWAY`` steps in a row, or the last of none that went well,
    got no answer at all.
    """
    failed = away = well = 0
    last: Exception | None = None
    for item in items:
        try:
            await step(item)
            away, well = 0, well + 1
        except Fenced:
            raise
        except Exception as error:
            failed += 1
            known = isinstance(error, (KubeError, ApiError, OSError))
            log.warning("%s: %s: %s", what, _name(item), error or type(error).__name__, exc_info=not known)
            away, last = (away + 1, error) if _is_away(error) else (0, None)
            if away >= AWAY:
                raise
    if last is not None and not well:
        raise last
    return failed


def _name(item: object) -> str:
    """Return what an item is called."""
    if isinstance(item, tuple) and item:
        return _name(item[-1])
    if isinstance(item, dict):
        meta = item.get("metadata")
        meta = meta if isinstance(meta, dict) else {}
        return f"{meta.get('namespace', '')}/{meta.get('name', '')}".strip("/")[:200]
    found = next((getattr(item, name) for name in ("id", "seq", "definition") if hasattr(item, name)), item)
    return str(found)[:200] if isinstance(found, (str, int)) else type(item).__name__


def _is_away(error: Exception) -> bool:
    """Return whether an error says nothing of the item: who was asked did not answer."""
    if isinstance(error, ApiError):
        return error.status >= 500
    return isinstance(error, (Unavailable, OSError))
