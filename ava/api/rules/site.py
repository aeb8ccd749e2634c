"""What there is to be named by a definition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ava.domain.model import Pool, Queue


@dataclass(frozen=True, slots=True)
class Site:
    """What there is to be named by a definition.

    Attributes:
        queues, pools: by name.
        clusters: names.
        deploy_keys: of the owner.
    """

    queues: Mapping[str, Queue]
    pools: Sequence[Pool]
    clusters: Collection[str]
    deploy_keys: Collection[str] = ()
    where: str = "body.spec"


def some(names: Collection[str]) -> str:
    """Return some of the names that there are."""
    shown = sorted(names)[:20]
    more = len(names) - len(shown)
    return (
        ("one of: " + ", ".join(shown) + (f" and {more} more" if more > 0 else ""))
        if shown
        else "there is none yet"
    )
