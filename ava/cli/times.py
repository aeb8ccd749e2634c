"""The one grammar of --since: how long ago, or a time. `avadm.cli.times` reads the same."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from ava.domain.compat import UTC

if TYPE_CHECKING:
    _Time = click.ParamType[datetime]
else:  # no generic type in the last click for Python 3.9
    _Time = click.ParamType

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
WANTED = "90s, 15m, 2h, 3d (ago) or a time such as 2026-11-22T13:00:00 (UTC unless it has an offset)"


class Instant(_Time):
    """A text that becomes a time with its offset from UTC."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time; BadParameter where the text is none."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        if match := re.fullmatch(r"-?(\d{1,6})([smhd])", text):
            return datetime.now(UTC) - timedelta(seconds=int(match[1]) * UNITS[match[2]])
        try:
            # Python 3.9 reads no Z.
            found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
        except ValueError:
            self.fail(f"Invalid time {text!r}: expected {WANTED}.", param, ctx)
        return found if found.tzinfo else found.replace(tzinfo=UTC)


INSTANT = Instant()
