"""JSON by orjson; times in UTC with Z."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import BaseModel


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(type(value).__name__)


def encode(data: Any) -> bytes:
    """Return data as JSON."""
    return orjson.dumps(data, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC)
