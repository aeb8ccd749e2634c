"""Figures that a timer's program leaves for the node exporter: how old they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def late(figures: Mapping[str, Any], seconds: float) -> str:
    """Return in words how old figures are where they are older than they may be, else "".

    What has not been written yet is not late as long as its timer has not run for longer than that itself.

    Args:
        figures: ``age_s`` (None: there are none) and ``timer_s`` (None: the timer does not run).
        seconds: how old they may be.
    """
    age, running = figures["age_s"], figures["timer_s"]
    if (age is not None and age <= seconds) or (running is not None and running <= seconds):
        return ""
    words = "there are none yet" if age is None else f"the last are {age / 60:.0f} minutes old"
    return words if running is not None else f"{words}, and the timer does not run"
