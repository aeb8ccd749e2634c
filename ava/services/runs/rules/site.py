"""What there is to be named by a definition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ava.domain.model import Pool, Queue
from ava.domain.phrases import Phrase
from ava.images.catalogue import Offered


@dataclass(frozen=True, slots=True)
class Site:
    """What there is to be named by a definition.

    Attributes:
        queues, pools: by name.
        clusters: names.
        deploy_keys: of the owner.
        images: by the catalogue's name.
        git: whether there are servers that code may be cloned from.
        disks: whether workbenches may have disks of nodes.
    """

    queues: Mapping[str, Queue]
    pools: Sequence[Pool]
    clusters: Collection[str]
    deploy_keys: Collection[str] = ()
    git: bool = True
    images: Mapping[str, Offered] = field(default_factory=dict)
    disks: bool = False
    where: str = "body.spec"


def some(names: Collection[str]) -> str:
    """Return some of the names that there are."""
    shown = sorted(names)[:20]
    more = len(names) - len(shown)
    if not shown:
        return "there is none yet"
    return Phrase("one of: {names}", names=", ".join(shown) + (f" and {more} more" if more > 0 else ""))
