"""Images that users have pushed."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from ava.schemas.common import Answer, GroupName, UserName, Worded


class ImageUseOut(Answer):
    """What names an image: a ``run`` that has not finished, or a stored ``definition``; of another member's the owner alone."""

    kind: str
    id: str
    name: str
    owner: str


class PushedImageOut(Answer):
    """An image; ``size`` in bytes, layers that other images have too among them.

    ``name`` is by its first tag, by its digest where it has none. All its tags go with it.
    """

    name: str
    repository: str
    digest: str
    tags: list[str]
    size: int
    pushed: datetime
    uses: list[ImageUseOut]


class PushedOut(Answer):
    """What a user (``users/NAME``) or group (``groups/GROUP``) has in the registry, bytes; ``limit`` null: no limit.

    ``used`` counts each layer once; ``waiting`` is what deleted images still take until the next night. ``full`` says why nothing
    more can be pushed, "" where it can.
    """

    owner: str
    used: int
    waiting: int
    limit: int | None
    full: Worded
    images: list[PushedImageOut]


class PushedQuery(BaseModel):
    """Whose images; by default, one's own and those of one's groups."""

    model_config = ConfigDict(extra="forbid")
    user: UserName | None = None
    group: GroupName | None = None
