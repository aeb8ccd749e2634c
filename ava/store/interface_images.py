"""What the ledger can do for images that users have pushed (interface.py says what holds for all methods)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ava.domain.model import ImageUse


class Images(Protocol):
    """Uses and deletions of images; why both are needed: images.py."""

    def image_uses(self, text: str) -> Sequence[ImageUse]:
        """Return the runs that have not finished, and the definitions, in whose image's name a text stands."""

    def delete_image(self, id: str, repository: str, until: datetime) -> None:
        """Write that an image of a repository is being deleted, until that time at most; again: until a later one."""

    def image_deleted(self, id: str) -> None:
        """Write that it is deleted, or stays."""

    def images_go(self, repository: str, now: datetime) -> bool:
        """Whether an image of a repository is being deleted."""
