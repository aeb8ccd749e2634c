"""What users and groups used in a month, as the platform counts it from its charges."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal

from ava.client import Client

HOURS = ("gpu_hours", "cpu_hours", "memory_gib_hours", "reserved_gpu_hours")
COLUMNS = ("user", "group", "runs", *HOURS)
DECIMALS = 4
"""Of hours, as the platform gives them."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was used; ``user`` or ``group`` is "" where it is summed over them. Hours of cards, cores and GiB.

    Used while pods had their nodes; ``reserved_gpu_hours`` from admission on, as quotas count.
    """

    user: str
    group: str
    runs: int
    gpu_hours: float
    cpu_hours: float
    memory_gib_hours: float
    reserved_gpu_hours: float

    def shown(self) -> dict[str, str | int]:
        """Return the row as it is exported: hours with four decimals."""
        return {
            key: f"{value:.{DECIMALS}f}" if isinstance(value, float) else value
            for key, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The usage of a month, UTC.

    Attributes:
        final: whether the month is over, so that the same is answered at any later time.
    """

    month: str
    final: bool
    rows: list[Row]


def report(
    ava: Client, month: str, by: Literal["user", "group"] | None, now: datetime | None = None
) -> Report:
    """Return the usage of a month ``YYYY-MM`` by user and group, or summed by one of them, in order of names.

    Raises:
        Refused: the platform has something against it (no such month, not the caller's to know).
    """
    found = ava.usage(month=month)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, *(0.0 for _ in HOURS)])
    for row in found.rows:
        key = ("" if by == "group" else row.user, "" if by == "user" else row.group)
        parts = (row.runs, *(getattr(row, name) for name in HOURS))
        sums[key] = [before + more for before, more in zip(sums[key], parts, strict=True)]
    rows = [
        Row(user, group, int(values[0]), *(round(float(v), DECIMALS) for v in values[1:]))
        for (user, group), values in sorted(sums.items())
    ]
    return Report(month, found.until <= (now or datetime.now(UTC)), rows)
