"""One key of the site file in words: its type, default and meaning, and the keys below it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from avadm.errors import AvadmError
from avadm.site.errors import elsewhere, model_of, nearest
from avadm.site.model import Site
from avadm.site.schema import default_of, type_of


@dataclass(frozen=True, slots=True)
class Key:
    """What the model says of a key.

    Attributes:
        path: as asked for, without indexes of lists.
        type, default, meaning: in words; "" for the whole file.
        below: the keys of the mapping that it is, or that the items of its list are.
    """

    path: str
    type: str
    default: str
    meaning: str
    below: tuple[Key, ...] = ()


def key(path: str) -> Key:
    """Return what the model says of a key such as ``network.management`` or ``nodes[].devices``; "" is the whole file.

    Raises:
        AvadmError: there is no such key, with the nearest one.
    """
    parts = [part for part in re.sub(r"\[\d*\]", "", path).split(".") if part and not part.isdigit()]
    model: type[BaseModel] | None = Site
    free, info = False, None
    for i, part in enumerate(parts):
        if model is not None and part in model.model_fields:
            info = model.model_fields[part]
            free, model = _inner(info.annotation)
        elif free:  # the name of an entry, which is the user's own
            free = False
        else:
            raise _unknown(".".join(parts[:i]), part, list(model.model_fields) if model else [])
    about = _about(".".join(parts), info) if info else Key("", "mapping", "required", _first_line(Site))
    below = () if model is None else tuple(_about(name, field) for name, field in model.model_fields.items())
    return Key(about.path, about.type, about.default, about.meaning, below)


def _inner(annotation: Any) -> tuple[bool, type[BaseModel] | None]:
    """Return whether an annotation is a mapping with names of the user's own, and the model of what it holds."""
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is dict:
            return True, model_of(get_args(one)[1])
    return False, model_of(annotation)


def _about(path: str, info: FieldInfo) -> Key:
    return Key(path, type_of(info), default_of(info), info.description or "")


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _unknown(above: str, name: str, known: list[str]) -> AvadmError:
    place = elsewhere(name)
    hint = f"There is {place!r}. " if place else ""
    return AvadmError.of(
        "unknown-key-asked",
        where="command line",
        found=name,
        wanted="a key of the site file",
        name=name,
        above=f" in {above!r}" if above else "",
        remedy=hint + (nearest(name, known) if known else f"{above!r} has no keys below it."),
    )
