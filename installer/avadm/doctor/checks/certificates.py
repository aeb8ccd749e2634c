"""Certificates on the nodes that end soon, have ended, or cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.doctor.base import Check, Trouble, bad, warn
from avadm.doctor.model import Snapshot

DAY = 86400.0
BAD_SHARE, WARN_SHARE = 0.1, 0.25
"""Shares of its life that are left; `avadm apply` renews one that has less than a third left."""
BAD_DAYS = 7.0


def _ending(s: Snapshot, node: str, data: Any) -> Iterator[Trouble]:
    for path, life in sorted(data.items()):
        if isinstance(life, str):
            yield warn(f"{path}: {life}")
            continue
        begins, ends = life
        left = ends - s.taken
        text = f"{path} ends in {left / DAY:.1f} days"
        if left <= 0:
            yield bad(f"{path} ended {-left / DAY:.1f} days ago")
        elif begins > s.taken:
            yield bad(
                f"{path} begins only in {(begins - s.taken) / DAY:.1f} days: the node's clock, or the controller's, is wrong"
            )
        elif left < BAD_SHARE * (ends - begins) or (
            left < BAD_DAYS * DAY and ends - begins > 4 * BAD_DAYS * DAY
        ):
            yield bad(text)
        elif left < WARN_SHARE * (ends - begins):
            yield warn(text)


CHECKS = (
    Check(
        "certificates",
        "certificates",
        "a certificate that has ended or soon will",
        "`avadm apply` renews it and restarts who uses it.",
        "certificates",
        _ending,
        requirement="I5",
        good="all live for long",
    ),
)
