"""Logs of runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field


class LogQuery(BaseModel):
    """Which lines."""

    model_config = ConfigDict(extra="forbid")
    follow: bool = False
    tail: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """The newest ones at most; with ``follow`` those before the first new one."""
    since: AwareDatetime | None = None
    pod: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9.-]+$")] | None = None
    format: Literal["text", "json"] = "text"
    """json: a line is ``{"time", "pod", "text"}``, the last one of a followed log ``{"end": why}``."""
    timestamps: bool = False
