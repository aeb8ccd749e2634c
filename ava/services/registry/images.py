"""What users have pushed to the site's registry: asked where it lies, removed by the registry's own interface.

Nothing of it is kept here: it is counted at each question by a program beside the registry
(avadm_node/agents/registry), so that no answer is older than the question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ava.domain.amounts import number
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.config import Config
from ava.services.registry.client import Registry, connected, silent
from ava.services.registry.tokens import Signer

SECONDS = 15.0
"""A large account on a busy disk takes some."""
Count = Annotated[int, Field(ge=0)]


class Image(BaseModel):
    """A manifest with all that it names.

    Attributes:
        size: bytes; a layer that other images have too is in all of them.
        parts: digests of the manifests of a list of images by architecture.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    repository: str
    digest: str
    tags: tuple[str, ...] = ()
    size: Count
    pushed: datetime
    parts: tuple[str, ...] = ()

    @field_validator("pushed", mode="before")
    @classmethod
    def _time(cls, seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, UTC)

    @property
    def name(self) -> str:
        """How it is named: by its first tag, else by its digest."""
        return f"{self.repository}:{self.tags[0]}" if self.tags else f"{self.repository}@{self.digest}"


class Account(BaseModel):
    """What an owner has; bytes. ``limit`` None: as much as there is room for.

    Attributes:
        used: what counts.
        waiting: what only deleted images had and is not given back yet.
        countless: there is more than is counted.
        room: whether the registry's disk has room for more.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    owner: str
    limit: Count | None
    used: Count
    waiting: Count
    countless: bool = False
    room: bool = True
    images: tuple[Image, ...] = ()


@dataclass(slots=True)
class PushedImages:
    """The registry as the API manages it for users.

    Attributes:
        space: tells what owners have.
        registry: the process that users push to; it removes for a token of the API's own.
    """

    signer: Signer
    space: httpx.Client
    registry: httpx.Client
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def account(self, owner: str, where: str = "registry") -> Account:
        """Return what an owner (``users/NAME``, ``groups/GROUP``) has; ApiError 503 where that cannot be known."""
        try:
            answer = self.space.get(f"/owners/{owner}")
            answer.raise_for_status()
            return Account.model_validate_json(answer.content)
        except (httpx.HTTPError, OSError, ValidationError) as error:
            raise silent(where) from error

    def remove(self, image: Image, where: str = "registry") -> None:
        """Remove an image with all its tags; one that is gone already is none to remove. ApiError 503 without an answer."""
        token = self.signer.removal(image.repository, self.clock())
        try:
            answer = self.registry.delete(
                f"/v2/{image.repository}/manifests/{image.digest}",
                headers={"authorization": f"Bearer {token}"},
            )
            if answer.status_code != httpx.codes.NOT_FOUND:
                answer.raise_for_status()
        except (httpx.HTTPError, OSError) as error:
            raise silent(where) from error


def made(config: Config, signer: Signer, clock: Callable[[], datetime]) -> PushedImages:
    """Return it by the settings."""
    pushed = signer.settings
    nodes = config.registries.get(pushed.pulled, Registry())
    return PushedImages(
        signer,
        connected(pushed.space, nodes, seconds=SECONDS),
        connected(pushed.host, Registry(ca=nodes.ca), seconds=SECONDS),
        clock,
    )


def check_room(pushed: PushedImages, owners: Collection[str]) -> None:
    """Return if each of these may push more.

    Raises:
        ApiError: 403 for whose space is used up, 503 where that cannot be known: anyone who cannot be counted pushes nothing.
    """
    if found := [p for owner in owners for p in full(pushed.account(owner))]:
        raise ApiError(403, *found)


def full(account: Account) -> list[Problem]:
    """Return why an owner may push nothing more; empty where they may."""
    where, limit = f"images of {account.owner}", account.limit
    if not account.room:
        return [
            Problem(
                "registry-full",
                Phrase("The registry's disk is nearly full."),
                where,
                Phrase("less free than is kept for the site's own images"),
                Phrase("room for more"),
                Phrase("Delete unused images (`ava image delete`): that makes room within minutes."),
            )
        ]
    if account.countless:
        return [
            Problem(
                "image-limit-exceeded",
                Phrase("{owner} has more images than are counted.", owner=account.owner),
                where,
                Phrase("too many tags, manifests or layers"),
                Phrase("at most 5,000 manifests, 10,000 tags, 50,000 layers, 1,000 repositories"),
                Phrase("Delete images (`ava image delete`); what is deleted is gone after the next night."),
            )
        ]
    if limit is None:
        return []
    if account.used >= limit:
        return [
            Problem(
                "images-full",
                Phrase(
                    "The images of {owner} take up all the space that they may have.", owner=account.owner
                ),
                where,
                shown(account.used),
                Phrase("less than {most}", most=shown(limit)),
                Phrase(
                    "Delete images (`ava image delete`), then push again. What a push that was cut off has left goes at night."
                ),
            )
        ]
    # Otherwise who pushes and deletes in turn fills the disk within a day.
    if account.used + account.waiting >= 2 * limit:
        return [
            Problem(
                "images-pending-deletion",
                Phrase("Deleted images of {owner} still take up as much space again.", owner=account.owner),
                where,
                Phrase(
                    "{deleted} deleted, {kept} kept", deleted=shown(account.waiting), kept=shown(account.used)
                ),
                Phrase("less than {size} in sum", size=shown(2 * limit)),
                Phrase("Push again tomorrow: what is deleted is removed at night."),
            )
        ]
    return []


def shown(count: int) -> str:
    """Return bytes as people read them."""
    return number("storage", count)
