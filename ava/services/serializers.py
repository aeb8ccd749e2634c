"""The database's records as they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from ava.domain.model import Definition, Group, PodState, Pool, Queue, Quota, Run, Usage, User
from ava.domain.phrases import sentences
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from ava.domain.states import show
from ava.schemas.common import Amounts, Answer, ProblemOut, QuotaIn, QuotaOut
from ava.schemas.runs import DefinitionOut, LeavesOut, PodOut, PoolOut, QueueOut, RunOut, UsageOut
from ava.schemas.users import AuditOut, GroupOut, SecretOut, UserOut
from ava.services.auth import email_confirmation
from ava.services.context import Context

HOUR = 3600
A = TypeVar("A", bound=Answer)


def answer(model: type[A], value: object, **given: Any) -> A:
    """Return a record as it is answered: each field is the attribute of its name, but for those that are given."""
    same = {name: getattr(value, name) for name in model.model_fields if name not in given}
    return model.model_validate(same | given, from_attributes=True)


def quota(value: Quota) -> QuotaOut:
    """Return a quota."""
    return answer(QuotaOut, value)


def quota_in(value: QuotaIn) -> Quota:
    """Return the quota that a request names."""
    return Quota(value.gpu, value.cpu, value.memory, value.storage, value.disk)


def amounts(value: Resources) -> Amounts:
    """Return an amount."""
    return answer(Amounts, value)


def user(context: Context, value: User) -> UserOut:
    """Return a person."""
    return answer(UserOut, value, email_confirmed=email_confirmation.state(context, value))


def group(value: Group) -> GroupOut:
    """Return a group."""
    return answer(GroupOut, value)


def queue(value: Queue, waiting: int) -> QueueOut:
    """Return a queue."""
    return answer(QueueOut, value, waiting=waiting)


def pool(value: Pool) -> PoolOut:
    """Return a pool."""
    return answer(PoolOut, value)


def definition(value: Definition) -> DefinitionOut:
    """Return a definition."""
    return answer(DefinitionOut, value)


def run(
    value: Run,
    pods: Sequence[PodState],
    now: datetime,
    alive: datetime | None,
    leaves: LeavesOut | None = None,
    maintenance: str = "",
) -> RunOut:
    """Return a run with the state that is shown.

    Args:
        value: the run.
        pods: its pods, as last seen.
        now: the time.
        alive: the operator's last heartbeat.
        leaves: the node that it shall leave.
        maintenance: the same in a sentence.
    """
    shown = show(value, pods, now, alive)
    wanted = sum(int(role.get("replicas", 1)) for role in value.spec.get("roles") or [{}])
    reason = sentences(shown.reason, maintenance)
    return answer(RunOut, value, pods=wanted, state=shown.state.value, reason=reason, leaves=leaves)


def pod(value: PodState) -> PodOut:
    """Return a pod; its address inside the cluster is not for users."""
    return answer(PodOut, value, name=value.pod)


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
