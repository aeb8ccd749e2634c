"""Numbers of things in words."""

from __future__ import annotations


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 node``, ``2 nodes``; a plural that is not the noun with an s is given."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
