"""Requests that hold a definition."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from ava.api.schemas.common import Request
from ava.api.strict import StrictSpec
from ava.domain.spec import Name

Key = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")]
"""Of one user's runs each has another one; a request that is sent again with it changes nothing."""


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
