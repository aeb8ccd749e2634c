"""What uses images that users have pushed: runs that have not finished, and definitions, by tag or by digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ava.domain.model import ImageUse
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.registry.client import split
from ava.services.registry.images import Image
from ava.services.registry.repositories import named

Uses = Mapping[tuple[str, str], Sequence[ImageUse]]
"""Repository and reference (tag or digest) to what names them."""


def uses(context: Context, caller: Caller, owner: str) -> Uses:
    """Return what uses images of an owner, in whichever of its forms the image is named."""
    pushed = context.config.user_registry
    if pushed is None:
        return {}
    found: dict[tuple[str, str], list[ImageUse]] = {}
    for one in context.db.images.uses(f"{owner}/"):
        image = named(one.image, pushed.host, pushed.pulled)
        if image is not None:
            repository, reference = split(image.partition("/")[2])
            found.setdefault((repository, reference or "latest"), []).append(one)
    return found


def of(image: Image, found: Uses, *, parts: Sequence[str] | None = None) -> list[ImageUse]:
    """Return what uses an image; a run of a list of images has the digest of one of its ``parts``."""
    references = (image.digest, *image.tags, *(image.parts if parts is None else parts))
    rows = {one: None for reference in references for one in found.get((image.repository, reference), ())}
    return list(rows)
