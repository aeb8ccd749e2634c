"""What the database knows: people, groups, quotas, definitions, runs, charges. Records are immutable."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any, Generic, TypeVar

from ava.domain.compat import StrEnum, dataclass
from ava.domain.resources import Resources

T = TypeVar("T")


class UserState(StrEnum):
    """Whether a person may log in: registered and not yet approved, approved, shut out."""

    PENDING = "pending"
    ACTIVE = "active"
    DISABLED = "disabled"


class Kind(StrEnum):
    """What a definition describes."""

    WORKBENCH = "workbench"
    TRAINING = "training"
    SERVICE = "service"


class Phase(StrEnum):
    """Where a run is in the database. "Running" is not among them: what runs is reported by its pods (states.py)."""

    QUEUED = "queued"
    """Waits for its group's quota and its queue; nothing is charged."""
    ADMITTED = "admitted"
    """Charged. Its pods are made, run, or are being removed."""
    FINISHED = "finished"
    """Its pods are gone and its charge has ended."""


class Outcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    ABORTED = "aborted"
    """A role's failure policy ended the whole run."""
    TIMED_OUT = "timed-out"
    LOST = "lost"
    """Its node or pods went away and retries were used up."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a group may have at once; ``None`` means no limit.

    Attributes:
        storage: bytes in the group's folder of cephfs.
        disk: bytes of workbenches' disks on nodes, running or not.
    """

    gpu: int | None = 0
    cpu: int | None = 0
    memory: int | None = 0
    storage: int | None = None
    disk: int | None = 0


@dataclass(frozen=True, slots=True)
class User:
    """A person; ``uid`` is theirs in the file system and in containers.

    Users, groups, queues and pools are referred to by their names, which never change and are never used again;
    definitions and runs by their ids. ``entered`` is when they last proved who they are by a login, ``email_confirmed`` when the
    address was confirmed to be theirs; None: nothing but the confirmation itself is sent to it.
    """

    id: str
    name: str
    email: str
    uid: int
    admin: bool
    state: UserState
    default_group: str | None
    created: datetime
    entered: datetime | None = None
    email_confirmed: datetime | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Users who share a quota and a folder; ``used`` is the sum of the open charges."""

    id: str
    name: str
    gid: int
    quota: Quota
    used: Resources
    created: datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """Where runs wait.

    Attributes:
        pool: nodes that its runs go to; None: by what they ask for (GPU or CPU pool).
        quota: what its runs may have at once, all groups together.
        priority: a higher one is looked at first.
    """

    id: str
    name: str
    pool: str | None
    quota: Quota
    used: Resources
    priority: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind.

    Attributes:
        gpu: whether it takes runs that ask for GPUs, or (False) runs that ask for none.
        selector: labels that its nodes have.
        cpu_ratio: limits of CPU may be so many times the requests (overselling, N3).
        memory_ratio: the same for memory.
        gpu_slots: pods that may share one card; 1: cards are whole.
    """

    id: str
    name: str
    gpu: bool
    selector: dict[str, str]
    cpu_ratio: float = 1.0
    memory_ratio: float = 1.0
    gpu_slots: int = 1


@dataclass(frozen=True, slots=True)
class Definition:
    """What a user stored to be run; ``spec`` is a Spec (spec.py) as plain JSON."""

    id: str
    kind: Kind
    owner: str
    name: str
    spec: dict[str, Any]
    created: datetime
    deleted: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImageUse:
    """A run that has not finished (``run``), or a stored ``definition``, and the image that it names."""

    kind: str
    id: str
    name: str
    owner: str
    image: str


@dataclass(frozen=True, slots=True)
class Run:
    """One start of a definition.

    Attributes:
        spec: the definition's at the time of the start; later changes do not touch the run.
        owner: the user's name; ``group`` and ``queue`` are names too.
        group: charged: the owner's default group when the run was created (U6).
        key: the client's; two requests with one key make one run.
        asks: what all its pods ask for together, and what is charged.
        started: when all its pods first had their nodes, and so their GPUs; its time limit begins then.
        pools: where its pods go, by ``gpu`` and ``cpu``, as it was admitted; empty: before it is, or by a release before.
        stop: when its end was asked for.
        attempt: how often the whole run was started again, from 0.
        outcome: how it ended; with ``reason`` in a sentence.
    """

    id: str
    definition: str
    kind: Kind
    name: str
    owner: str
    group: str
    queue: str
    priority: int
    cluster: str
    key: str
    spec: dict[str, Any]
    asks: Resources
    phase: Phase
    created: datetime
    admitted: datetime | None = None
    stop: datetime | None = None
    finished: datetime | None = None
    outcome: Outcome | None = None
    reason: str = ""
    attempt: int = 0
    started: datetime | None = None
    pools: dict[str, str] = field(default_factory=dict)
    waits_for: tuple[dict[str, Any], ...] = ()
    """Why it is not admitted or placed yet, as problems; written by the scheduler, only for people."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What is reserved for a run from its admission until its pods are gone. Never edited but for its end.

    ``allocated`` is when its pods had their nodes, from which on it is billed; None: not yet.
    """

    id: int
    run: str
    group: str
    queue: str
    user: str
    amount: Resources
    began: datetime
    ended: datetime | None = None
    allocated: datetime | None = None


class Topic(StrEnum):
    """Who takes a message of the outbox."""

    SCHEDULER = "scheduler"
    OPERATOR = "operator"
    NOTICE = "notice"
    STORAGE = "storage"


CONFIRM_EMAIL = "confirm-email"
"""Kind of the notice that asks a user to confirm an address; its payload has ``email`` and ``link``."""


@dataclass(frozen=True, slots=True)
class Message:
    """A row of the outbox: something decided in the same transaction that somebody else has to carry out.

    Attributes:
        seq: rises, but a later one may be visible first: take what is open, not what is beyond the last.
        kind: ``run-queued``, ``run-admitted`` (also for each further attempt), ``run-stop``, ``run-finished``,
            ``group-changed``, ``queue-changed``, ``user-changed``, ``data-set-changed``, ``definition-deleted``,
            ``confirm-email``.
        object: the id (a run, a definition) or name (a group, a queue, a user) that it is about; what is to be done is
            read from the database, so a repeated message does no harm.
    """

    seq: int
    topic: Topic
    kind: str
    object: str
    payload: dict[str, Any]
    created: datetime


@dataclass(frozen=True, slots=True)
class PodState:
    """What the operator last saw of one pod of a run.

    Attributes:
        phase: Kubernetes' own: Pending, Running, Succeeded, Failed, Unknown, Terminating.
        reason: code of the reason: ``OOMKilled``, ``ImagePullBackOff``, ``Unschedulable``, ``NodeLost`` …
        seen: when it last changed; whether it is still true is reported by the operator's heartbeat (states.py).
    """

    run: str
    pod: str
    role: str
    index: int
    attempt: int
    phase: str
    node: str = ""
    address: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    restarts: int = 0
    started: datetime | None = None
    ready: bool = False
    placed: datetime | None = None
    ended: datetime | None = None
    seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; ``next`` is the cursor of the following page, None at the end."""

    items: tuple[T, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used in a stretch of time, while pods had their nodes: amount × seconds.

    ``reserved`` is the same from admission on, as quotas count it; never less than what was used.
    """

    user: str
    group: str
    runs: int
    gpu_seconds: int
    cpu_seconds: int
    memory_seconds: int
    reserved: Resources = Resources()
    extra: dict[str, Any] = field(default_factory=dict)
