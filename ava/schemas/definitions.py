"""Requests that hold a definition."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, StringConstraints

from ava.domain.spec import Name, Spec
from ava.schemas.common import PageQuery, Request

KindName = Literal["workbench", "training", "service"]
Key = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")]
"""Of one user's runs each has another one; a request that is sent again with it changes nothing."""


def _spec(value: Any) -> Any:
    """Return a definition as JSON's types alone allow: "3" is no number, 1.0 no whole one, true is not 1."""
    return Spec.model_validate_json(orjson.dumps(value), strict=True) if isinstance(value, dict) else value


StrictSpec = Annotated[Spec, BeforeValidator(_spec)]


class DefinitionMake(Request):
    """A definition to be stored; the same again changes nothing."""

    name: Annotated[Name, Field(description="Unique among the owner's definitions of this kind.")]
    spec: StrictSpec
    replace: bool = False
    """Whether another definition of this name gives way."""


class RunMake(Request):
    """A definition to be stored and started at once."""

    name: Name
    spec: StrictSpec
    key: Key | None = None
    replace: bool = True
    """Whether another definition of this name gives way; else 409."""


class Start(Request):
    """How a stored definition is started; what is left out is as the definition says."""

    key: Key | None = None
    queue: Name | None = None
    priority: Annotated[int, Field(ge=0, le=100)] | None = None


class DefinitionsQuery(PageQuery):
    """Which definitions."""

    kind: KindName | None = None
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    all: bool = False
    """All for administrators; else one's own."""
