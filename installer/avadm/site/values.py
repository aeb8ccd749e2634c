"""Kinds of values in a site file (addresses, numbers, words as a person writes them) and the base of its mappings."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, LiteralString

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def _text(value: object) -> object:
    """Refuse what pydantic would take for an address although no human writes it so (10 is not 0.0.0.10)."""
    if isinstance(value, int | float | bool):
        raise ValueError("an address in dotted form")  # noqa: TRY004  pydantic turns only ValueError into its own error
    return value


def _network(value: object) -> object:
    """Refuse an address without a length: it would be taken for a network of that one address."""
    if isinstance(value, str) and "/" not in value:
        raise PydanticCustomError("ip_v4_network", "a network")
    return _text(value)


def _number(kind: LiteralString) -> BeforeValidator:
    """Refuse truth values, which Python counts as 0 and 1, and text (010 is 8 to some and 10 to others)."""

    def check(value: object) -> object:
        if isinstance(value, bool | str):
            raise PydanticCustomError(f"{kind}_type", "a number")
        return value

    return BeforeValidator(check)


Address = Annotated[IPv4Address, BeforeValidator(_text)]
Subnet = Annotated[IPv4Network, BeforeValidator(_network)]
Whole = Annotated[int, _number("int")]
Real = Annotated[float, _number("float"), Field(allow_inf_nan=False)]
Words = Annotated[str, Field(pattern=r"\S")]
NodeName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class Model(BaseModel):
    """Base: unknown keys are errors, values are checked, nothing is changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
