"""The one grammar of times: --since and --until, and how long to wait. `ava.cli.times` reads the same instants."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
WANTED = "90s, 15m, 2h, 3d (ago) or a time such as 2026-11-22T13:00:00 (UTC unless it has an offset)"


class Instant(click.ParamType[float]):
    """A text that becomes seconds since 1970."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time; BadParameter where the text is none."""
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        # journalctl's form has a minus sign.
        if match := re.fullmatch(r"-?(\d{1,6})([smhd])", text):
            return time.time() - int(match[1]) * UNITS[match[2]]
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"Invalid time {text!r}: expected {WANTED}.", param, ctx)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


class Duration(click.ParamType[int]):
    """A text such as `90s` or `5m` that becomes seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the seconds; BadParameter where the text is no duration."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,6})([smhd])", str(value).strip())
        if match is None:
            self.fail(f"Invalid duration {value!r}: expected 90s, 15m or 2h.", param, ctx)
        return int(match[1]) * UNITS[match[2]]


def in_units(seconds: int) -> str:
    """Return a duration in the largest unit that says it exactly."""
    for unit, length in reversed(UNITS.items()):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


INSTANT = Instant()
DURATION = Duration()
