"""The settings of an election (leader.py)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ava.kube.leader import Lease
from ava.settings import Strict

Label = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Seconds = Annotated[float, Field(gt=0, le=3600)]


_LEASE = Lease()


class Election(Strict):
    """Which lease a program contends for, and its times in seconds as ava.kube.leader.Lease has them.

    Attributes:
        name: of the ConfigMap that is the lease.
    """

    name: Label
    length: Seconds = _LEASE.length
    margin: Seconds = _LEASE.margin
    every: Seconds = _LEASE.every

    @model_validator(mode="after")
    def _in_order(self) -> Election:
        self.lease()
        return self

    def lease(self) -> Lease:
        """Return its times; ValueError where they cannot be kept."""
        return Lease(self.length, self.margin, self.every)
