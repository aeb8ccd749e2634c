"""The database's records as they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ava.domain.model import Definition, Group, PodState, Pool, Queue, Quota, Run, Usage, User
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from ava.domain.states import show
from ava.schemas.common import Amounts, ProblemOut, QuotaIn, QuotaOut
from ava.schemas.runs import DefinitionOut, PodOut, PoolOut, QueueOut, RunOut, UsageOut
from ava.schemas.users import AuditOut, GroupOut, SecretOut, UserOut
from ava.services.auth import email_confirmation
from ava.services.context import Context

HOUR = 3600


def quota(value: Quota) -> QuotaOut:
    """Return a quota."""
    return QuotaOut(gpu=value.gpu, cpu=value.cpu, memory=value.memory, storage=value.storage, disk=value.disk)


def quota_in(value: QuotaIn) -> Quota:
    """Return the quota that a request names."""
    return Quota(value.gpu, value.cpu, value.memory, value.storage, value.disk)


def amounts(value: Resources) -> Amounts:
    """Return an amount."""
    return Amounts(gpu=value.gpu, cpu=value.cpu, memory=value.memory)


def user(context: Context, value: User) -> UserOut:
    """Return a person."""
    return UserOut(
        id=value.id,
        name=value.name,
        email=value.email,
        email_confirmed=email_confirmation.state(context, value),
        uid=value.uid,
        admin=value.admin,
        state=value.state.value,
        default_group=value.default_group,
        created=value.created,
    )


def group(value: Group) -> GroupOut:
    """Return a group."""
    return GroupOut(
        id=value.id,
        name=value.name,
        gid=value.gid,
        quota=quota(value.quota),
        used=amounts(value.used),
        created=value.created,
    )


def queue(value: Queue, waiting: int) -> QueueOut:
    """Return a queue."""
    return QueueOut(
        name=value.name,
        pool=value.pool,
        quota=quota(value.quota),
        used=amounts(value.used),
        priority=value.priority,
        waiting=waiting,
    )


def pool(value: Pool) -> PoolOut:
    """Return a pool."""
    return PoolOut(
        name=value.name,
        gpu=value.gpu,
        selector=dict(value.selector),
        cpu_ratio=value.cpu_ratio,
        memory_ratio=value.memory_ratio,
        gpu_slots=value.gpu_slots,
    )


def definition(value: Definition) -> DefinitionOut:
    """Return a definition."""
    return DefinitionOut(
        id=value.id,
        kind=value.kind.value,
        name=value.name,
        owner=value.owner,
        spec=dict(value.spec),
        created=value.created,
    )


def run(value: Run, pods: Sequence[PodState], now: datetime, alive: datetime | None) -> RunOut:
    """Return a run with the state that is shown; ``alive``: the operator's last heartbeat."""
    shown = show(value, pods, now, alive)
    return RunOut(
        id=value.id,
        definition=value.definition,
        kind=value.kind.value,
        name=value.name,
        owner=value.owner,
        group=value.group,
        queue=value.queue,
        priority=value.priority,
        cluster=value.cluster,
        asks=amounts(value.asks),
        pods=sum(int(role.get("replicas", 1)) for role in value.spec.get("roles") or [{}]),
        phase=value.phase.value,
        state=shown.state.value,
        reason=shown.reason,
        outcome=value.outcome.value if value.outcome else None,
        attempt=value.attempt,
        created=value.created,
        admitted=value.admitted,
        started=value.started,
        stop=value.stop,
        finished=value.finished,
    )


def pod(value: PodState) -> PodOut:
    """Return a pod; its address inside the cluster is not for users."""
    return PodOut(
        name=value.pod,
        role=value.role,
        index=value.index,
        attempt=value.attempt,
        phase=value.phase,
        node=value.node,
        reason=value.reason,
        message=value.message,
        exit_code=value.exit_code,
        restarts=value.restarts,
        started=value.started,
        seen=value.seen,
    )


def usage(value: Usage) -> UsageOut:
    """Return usage in hours."""
    return UsageOut(
        user=value.user,
        group=value.group,
        runs=value.runs,
        gpu_hours=round(value.gpu_seconds / HOUR, 4),
        cpu_hours=round(value.cpu_seconds / 1000 / HOUR, 4),
        memory_gib_hours=round(value.memory_seconds / 2**30 / HOUR, 4),
        reserved_gpu_hours=round(value.reserved.gpu / HOUR, 4),
        reserved_cpu_hours=round(value.reserved.cpu / 1000 / HOUR, 4),
        reserved_memory_gib_hours=round(value.reserved.memory / 2**30 / HOUR, 4),
    )


def secret(value: Mapping[str, Any]) -> SecretOut:
    """Return a session or token without its secret."""
    return SecretOut(
        id=value["id"],
        label=value["label"],
        created=value["created"],
        until=value["until"],
        used=value["used"],
        scopes=None if value["scopes"] is None else value["scopes"].split(","),
    )


def reason(value: Problem) -> ProblemOut:
    """Return a cause."""
    return ProblemOut(
        code=value.code,
        what=value.what,
        where=value.where,
        found=value.found,
        wanted=value.wanted,
        remedy=value.remedy,
    )


def audit(value: Mapping[str, Any]) -> AuditOut:
    """Return a line of the audit log."""
    names = ("who", "action", "object", "outcome", "address")
    return AuditOut(
        time=value["at"], detail=dict(value["detail"]), **{name: str(value[name]) for name in names}
    )
