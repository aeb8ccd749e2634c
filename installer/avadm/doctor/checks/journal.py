"""Known troubles that a line of the journal gives away; the table is patterns.yml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, Judge, bad, warn
from avadm.doctor.parts import WINDOW_MINUTES, patterns
from avadm.findings import Finding
from avadm.quantity import quantity


def _judge(row: Mapping[str, str]) -> Judge:
    tell = bad if row["status"] == "bad" else warn
    late = int(row.get("within", WINDOW_MINUTES * 60))

    def judge(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
        seen = data.get(row["id"])
        if seen and seen["count"] >= int(row["from"]) and seen["age_s"] <= late:
            yield tell(
                f"{quantity(seen['count'], 'line')} within {WINDOW_MINUTES} minutes, the last: {seen['last']}"
            )

    return judge


CHECKS = tuple(
    Check(
        row["id"],
        row["title"],
        ("journal",),
        _judge(row),
        topic="journal",
        remedy=row["remedy"],
        requirement=row["requirement"],
        good="no such line",
    )
    for row in patterns()
)
