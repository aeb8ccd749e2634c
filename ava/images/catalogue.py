"""The catalogue of images: what each has in it, and under which name the site's registry has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints

from ava.settings import Strict

Use = Literal["workbench", "training", "service"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9.]{0,61}[a-z0-9])?$")]


class Image(Strict):
    """An image of the catalogue.

    Attributes:
        title: what it is, for people.
        framework, version: the deep-learning framework that it has, and that one's version; ``none`` and the image's own.
        python, cuda: their versions; empty where it has none.
        uses: kinds of definitions that it is for.
        recipe: folder in ``ava/images``; empty for an image that the site made itself.
        size: bytes of its layers, not compressed; 0: unknown.
        command: what it runs where a definition names no command.
    """

    title: Annotated[str, StringConstraints(max_length=200)] = ""
    framework: Annotated[str, StringConstraints(max_length=60)] = "none"
    version: Annotated[str, StringConstraints(max_length=60)] = ""
    python: Annotated[str, StringConstraints(max_length=20)] = ""
    cuda: Annotated[str, StringConstraints(max_length=20)] = ""
    uses: tuple[Use, ...] = ("workbench", "training", "service")
    recipe: str = ""
    size: Annotated[int, Field(ge=0)] = 0
    command: tuple[str, ...] = ()


class Offered(Image):
    """An image that a site has: ``image`` is its full name in a registry, by a tag that never changes or a digest."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=500)]


@cache
def known() -> Mapping[str, Image]:
    """Return all that there are recipes for, by name; pydantic's ValidationError for a row that is wrong."""
    data = yaml.safe_load(Path(__file__).with_name("catalogue.yml").read_text(encoding="utf-8"))
    return {name: Image.model_validate(row) for name, row in data.items()}


def completed(site: Mapping[str, Any]) -> dict[str, Any]:
    """Return a site's rows with what the catalogue knows where they leave something out; nothing is validated."""
    every = known()
    return {
        name: (every[name].model_dump() if name in every else {}) | dict(row)
        if isinstance(row, Mapping)
        else row
        for name, row in sorted(site.items())
    }
