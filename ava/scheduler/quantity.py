"""Kubernetes' amounts: ``100m``, ``2``, ``1.5Gi``, ``1e3``."""

from __future__ import annotations

import re
from decimal import Decimal
from math import ceil

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?", re.ASCII)
_SUFFIX = {
    **{f"{letter}i": Decimal(1024) ** n for n, letter in enumerate("KMGTPE", 1)},
    **{letter: Decimal(1000) ** n for n, letter in enumerate("kMGTPE", 1)},
    **{letter: Decimal(1000) ** -n for n, letter in enumerate("mun", 1)},
}


def quantity(text: str | int | float, *, times: int = 1) -> int:
    """Return an amount times ``times`` (1000 for thousandths), rounded up as Kubernetes does.

    Raises ValueError for what is no amount.
    """
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{str(text)[:50]!r} is no amount")
    number, exponent, suffix = match.groups()
    value = Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _SUFFIX.get(suffix, Decimal(1)))
    return ceil(value * times)
