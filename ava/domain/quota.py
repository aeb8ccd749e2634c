"""The rules of quotas: which are valid, what fits, and the message where something does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from ava.domain.amounts import UNLIMITED, amount
from ava.domain.model import Quota
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.resources import FIELDS, Resources

MOST = 2**53
"""More of anything is an error: what JSON's readers keep exactly (RFC 8259, section 6)."""
UNITS = {"gpu": "whole GPUs", "cpu": "thousandths of a core"} | dict.fromkeys(
    ("memory", "storage", "disk"), "bytes"
)


def quota_problems(quota: Quota, where: str) -> Sequence[Problem]:
    """Return what is wrong with a quota: each part is None or an integer from 0 to 2**53."""
    parts = {name: getattr(quota, name) for name in (*FIELDS, "storage", "disk")}
    return [_out_of_range(name, v, where) for name, v in parts.items() if v is not None and not _valid(v)]


def asks_problems(asks: Resources, where: str = "asks") -> Sequence[Problem]:
    """Return what is wrong with an amount that is asked for."""
    parts = asks._asdict()
    return [_out_of_range(name, v, where) for name, v in parts.items() if not _valid(v)]


def whole(quota: Quota) -> Resources:
    """Return all that a quota allows, UNLIMITED where it has no limit."""
    return Resources(*(UNLIMITED if (v := getattr(quota, name)) is None else v for name in FIELDS))


def room(quota: Quota, used: Resources) -> Resources:
    """Return what is left of a quota."""
    return whole(quota).minus(used)


def never_fits(asks: Resources, quota: Quota, whose: str) -> Sequence[Problem]:
    """Return why a run could never be admitted, even if nothing else ran; ``whose``: ``group vision``, ``queue night``."""
    limits = whole(quota)
    return [
        Problem(
            "more-than-quota",
            Phrase(
                "It asks for more {label} than the whole quota of {whose}.", label=LABELS[name], whose=whose
            ),
            f"asks.{name}",
            amount(name, getattr(asks, name)),
            Phrase("at most {most}", most=amount(name, getattr(limits, name))),
            Phrase("Ask for less, or have the quota of {whose} raised.", whose=whose),
        )
        for name in asks.lacking(limits)
    ]


def waits_for_quota(asks: Resources, quota: Quota, used: Resources, whose: str) -> Sequence[Problem]:
    """Return why a run is not admitted now."""
    left = room(quota, used)
    return [
        Problem(
            "quota-used-up",
            Phrase("The quota of {whose} has no room for its {label} now.", whose=whose, label=LABELS[name]),
            whose,
            Phrase("{amount} left", amount=amount(name, max(getattr(left, name), 0))),
            amount(name, getattr(asks, name)),
            Phrase(
                "It starts when other runs of {whose} end; stop one, or have the quota raised.", whose=whose
            ),
        )
        for name in asks.lacking(left)
    ]


def below_use(quota: Quota, used: Resources, whose: str) -> Sequence[Problem]:
    """Return why a quota cannot be set: its runs have more than that now."""
    limits = whole(quota)
    return [
        Problem(
            "quota-below-use",
            Phrase(
                "The {label} that {whose} uses now are more than this quota.", label=LABELS[name], whose=whose
            ),
            f"quota.{name}",
            amount(name, getattr(limits, name)),
            Phrase("at least {least}", least=amount(name, getattr(used, name))),
            Phrase("Stop runs of {whose} first, or choose a higher quota.", whose=whose),
        )
        for name in used.lacking(limits)
    ]


LABELS = {"gpu": Phrase("GPUs"), "cpu": Phrase("CPU cores"), "memory": Phrase("bytes of memory")}


def _valid(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def _out_of_range(name: str, value: object, where: str) -> Problem:
    return Problem(
        "amount-invalid",
        Phrase("The amount of {name} is not a valid amount.", name=name),
        f"{where}.{name}",
        repr(value)[:40],
        Phrase("an integer from 0 to {most} ({units})", most=MOST, units=UNITS[name]),
        Phrase("Correct the amount."),
    )
