"""Amounts of resources as people read them."""

from __future__ import annotations

from ava.domain.phrases import Phrase

UNLIMITED = 2**62
"""What "no limit" counts as: sums below it fit a database's integer of 64 bits."""
_STEPS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"))


def number(name: str, value: int) -> str:
    """Return an amount where the words around it name what it is of: GPUs, cores with up to three decimals, GiB."""
    if value >= UNLIMITED:
        return Phrase("no limit")
    if name == "cpu":
        return f"{value / 1000:g}"
    if name not in ("memory", "storage", "disk"):
        return str(value)
    if value == 0:
        return "0 GiB"
    for size, unit in _STEPS:
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value / 2**20:.2g} MiB"


def amount(name: str, value: int) -> str:
    """Return an amount that says itself what it is of: ``2 GPUs``, ``0.25 cores``, ``1.5 GiB``."""
    reply = number(name, value)
    if value >= UNLIMITED or name in ("memory", "storage", "disk"):
        return reply
    if name == "cpu":
        return f"{reply} core" if value == 1000 else Phrase("{amount} cores", amount=reply)
    return f"{reply} GPU" if value == 1 else Phrase("{amount} GPUs", amount=reply)
