"""What the model says about itself: the JSON Schema for editors, the tables of its keys."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from avadm.site.errors import model_of
from avadm.site.model import Site


def schema(root: type[BaseModel] = Site, title: str = "avadm site file") -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a file, a site's where no other model is given."""
    made = root.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **{k: v for k, v in made.items() if k != "title"},
    }


def tables(root: type[BaseModel] = Site) -> str:
    """Return one Markdown table for each mapping of a file, from the model's own words."""
    return "\n".join(_table(path, model) for path, model in _models("", root))


def _models(path: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    yield path, model
    for name, info in model.model_fields.items():
        if get_origin(info.annotation) is dict and (inner := model_of(get_args(info.annotation)[1])):
            yield from _models(f"{path}.{name}.*".lstrip("."), inner)
        elif inner := model_of(info.annotation):
            many = "[]" if get_origin(info.annotation) is list else ""
            yield from _models(f"{path}.{name}{many}".lstrip("."), inner)


def _table(path: str, model: type[BaseModel]) -> str:
    title = f"`{path}`" if path else "The whole file"
    about = (model.__doc__ or "").strip().splitlines()[0]
    lines = [f"### {title}", "", about, "", "| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, info in model.model_fields.items():
        cells = (f"`{name}`", type_of(info), default_of(info), info.description or "")
        lines.append("| " + " | ".join(" ".join(c.replace("|", "\\|").split()) for c in cells) + " |")
    return "\n".join(lines) + "\n"


def type_of(info: FieldInfo) -> str:
    """Return the type of a key's value in words, with its bounds."""
    words = _words(info.annotation)
    bounds = [f"≥ {m.ge}" for m in info.metadata if isinstance(m, Ge)]
    bounds += [f"> {m.gt}" for m in info.metadata if isinstance(m, Gt)]
    bounds += [f"≤ {m.le}" for m in info.metadata if isinstance(m, Le)]
    return ", ".join([words, *bounds])


def _words(annotation: Any) -> str:
    names = {
        "str": "text",
        "int": "whole number",
        "float": "number",
        "bool": "true/false",
        "Any": "anything",
        "IPv4Address": "address",
        "IPv4Network": "network",
        "date": "date",
    }
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " / ".join(f"`{v}`" for v in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(i) for i in inner if i is not type(None))
    if origin is list:
        return f"list of {_words(inner[0])}"
    if origin is dict:
        return f"mapping to {_words(inner[1])}"
    if origin is not None:  # Annotated: the type comes first
        return _words(inner[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return names.get(getattr(annotation, "__name__", ""), str(annotation))


def default_of(info: FieldInfo) -> str:
    """Return what a key has where the file does not name it, in words."""
    if info.is_required():
        return "required"
    value = info.default
    if value is None:
        return "none"
    if value in ([], {}):
        return "empty"
    if isinstance(value, BaseModel):
        return "see below"
    if isinstance(value, list):
        return ", ".join(getattr(v, "name", str(v)) for v in value)
    return f"`{value}`"
