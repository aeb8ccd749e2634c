"""Definitions, runs, queues, pools, the cluster, usage; requests with a definition are in requests.py."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ava.schemas.common import (
    Amounts,
    Answer,
    PageQuery,
    ProblemOut,
    QuotaIn,
    QuotaOut,
    Request,
    SettingName,
    Worded,
)

LabelKey = Annotated[
    str, StringConstraints(max_length=317, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")
]
LabelValue = Annotated[
    str, StringConstraints(max_length=63, pattern=r"^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$")
]
Ratio = Annotated[float, Field(ge=1.0, le=100.0, allow_inf_nan=False)]


class DefinitionOut(Answer):
    """A stored definition. In lists ``spec`` has no env, command, git, data_sets and after: ask for the one definition."""

    id: str
    kind: str
    name: str
    owner: str
    spec: dict[str, Any]
    created: datetime


class ImageOut(Answer):
    """An image of the catalogue; ``size`` in bytes, not compressed."""

    name: str
    image: str
    title: str
    framework: str
    version: str
    python: str
    cuda: str
    uses: list[str]
    size: int | None


class LeavesOut(Answer):
    """A node that is drained, and that a run shall leave for that."""

    node: str
    until: datetime | None
    """When it is stopped there, or its replicas are; null: it ends by itself."""
    consented: bool
    """Whether its owner has agreed to its end."""


class RunOut(Answer):
    """One start of a definition.

    ``state`` is what is shown: queued, pending, starting, running, stopping, finished ..., or unknown while no one has
    looked at the pods lately; ``reason`` says it in words.
    """

    id: str
    definition: str
    kind: str
    name: str
    owner: str
    group: str
    queue: str
    priority: int
    cluster: str
    asks: Amounts
    pods: int
    phase: str
    state: str
    reason: Worded
    outcome: str | None
    attempt: int
    created: datetime
    admitted: datetime | None
    """Since when it is reserved for, and counted in the quota."""
    started: datetime | None
    """When all its pods first had their nodes: usage and the time limit count from then on."""
    stop: datetime | None
    finished: datetime | None
    leaves: LeavesOut | None = None
    """Where its node is drained for maintenance."""


class PodOut(Answer):
    """One pod of a run, as last seen."""

    name: str
    role: str
    index: int
    attempt: int
    phase: str
    node: str
    reason: str
    message: str
    exit_code: int | None
    restarts: int
    started: datetime | None
    seen: datetime | None


class Why(Answer):
    """Why a run is where it is: its state in a sentence, and each cause with what to do."""

    run: str
    state: str
    reason: Worded
    position: int | None
    """How many runs are looked at before it, in its queue; null where it does not wait."""
    reasons: list[ProblemOut]


class QueuePut(Request):
    """A queue."""

    pool: SettingName | None = None
    quota: QuotaIn | None = None
    priority: Annotated[int, Field(ge=-1000, le=1000)] | None = None


class QueueOut(Answer):
    """A queue with what it may have, what it has, and how many wait in it."""

    name: str
    pool: str | None
    quota: QuotaOut
    used: Amounts
    priority: int
    waiting: int


class WaitingOut(Answer):
    """A run that waits; whose it is only its owner and administrators see."""

    position: int
    run: str | None
    name: str | None
    owner: str | None
    group: str | None
    asks: Amounts
    priority: int
    created: datetime


class PoolPut(Request):
    """Nodes of one kind."""

    gpu: bool
    selector: Annotated[dict[LabelKey, LabelValue], Field(max_length=20)]
    cpu_ratio: Ratio = 1.0
    memory_ratio: Ratio = 1.0
    gpu_slots: Annotated[int, Field(ge=1, le=64)] = 1


class PoolOut(Answer):
    """Nodes of one kind."""

    name: str
    gpu: bool
    selector: dict[str, str]
    cpu_ratio: float
    memory_ratio: float
    gpu_slots: int


class NodeOut(Answer):
    """A node and what is free on it; not ``open``: it takes nothing at the moment.

    Where ``gpu_slots`` is more than 1, its GPUs are counted in slots, so many to a card.
    """

    cluster: str
    name: str
    pools: list[str]
    gpu_model: str
    gpu_slots: int
    open: bool
    capacity: Amounts
    free: Amounts


class ClusterOut(Answer):
    """What is available now, as the scheduler last reported.

    ``seen`` null: it has reported nothing yet; ``fresh`` false: that was too long ago to rely on.
    """

    seen: datetime | None
    fresh: bool
    clusters: list[str]
    nodes: list[NodeOut]


class UsageOut(Answer):
    """What was used in a stretch of time, while pods had their nodes; reserved: from admission on, as quotas count."""

    user: str
    group: str
    runs: int
    gpu_hours: float
    cpu_hours: float
    memory_gib_hours: float
    reserved_gpu_hours: float
    reserved_cpu_hours: float
    reserved_memory_gib_hours: float


class UsageReport(Answer):
    """Usage by user and group between two times; the second is not included."""

    since: datetime
    until: datetime
    rows: list[UsageOut]


class RunsQuery(PageQuery):
    """Which runs."""

    kind: Literal["workbench", "training", "service"] | None = None
    phase: Literal["queued", "admitted", "finished"] | None = None
    definition: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    group: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    owner: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    all: bool = False
    """All for administrators; else one's own."""


class UsageQuery(BaseModel):
    """Which usage; without ``month`` the present one."""

    model_config = ConfigDict(extra="forbid")
    month: Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")] | None = None
    group: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    format: Literal["json", "csv"] = "json"
