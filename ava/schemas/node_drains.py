"""Nodes that are drained, and the runs on them: for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ava.schemas.common import Answer, Request

LONGEST_SECONDS = 7 * 86_400
Cluster = Annotated[str, Field(min_length=1, max_length=100)]


class NodeDrainPut(Request):
    """How a node is drained."""

    cluster: Cluster = "default"
    notice: Annotated[int, Field(ge=0, le=LONGEST_SECONDS)] = 1800
    """Seconds from now until workbenches are stopped."""
    stop_runs: bool = False
    """Whether trainings are ended then too; else each ends by itself, or when its owner agrees."""


class NodeQuery(BaseModel):
    """In which cluster a node is."""

    model_config = ConfigDict(extra="forbid")
    cluster: Cluster = "default"


class NodeDrainOut(Answer):
    """A node that its runs shall leave."""

    asked_by: str
    begun: datetime
    until: datetime
    """When workbenches stop."""
    runs_until: datetime | None
    """When trainings are ended whose owners have not agreed; null: they end by themselves."""


class NodeRunOut(Answer):
    """A run with pods on a node."""

    id: str
    kind: str
    name: str
    owner: str
    group: str
    namespace: str
    """Of its pods in Kubernetes."""
    pods: list[str]
    """Names of its pods on the node, as last seen."""
    admitted: datetime | None
    started: datetime | None
    stop: datetime | None
    """When its end was asked for."""
    leaves: datetime | None
    """When it leaves the node at the latest; null: it ends by itself, or the node is not drained."""
    consented: bool


class NodeRunsOut(Answer):
    """A node, whether it is drained, and the runs on it, oldest first."""

    cluster: str
    node: str
    drain: NodeDrainOut | None
    runs: list[NodeRunOut]
