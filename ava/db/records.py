"""Rows of the database's tables as the domain's records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Row, Table

from ava.domain.model import (
    Charge,
    Definition,
    Group,
    Kind,
    Message,
    Outcome,
    Phase,
    PodState,
    Pool,
    Queue,
    Quota,
    Run,
    Topic,
    User,
    UserState,
)
from ava.domain.phrases import from_document
from ava.domain.resources import Resources

T = TypeVar("T")


def record(kind: Callable[..., T], row: Row[Any], /, **given: Any) -> T:
    """Return a row as a data class: each field is the column of its name, but for those that are given."""
    return kind(**{name: getattr(row, name) for name in _names(kind) if name not in given}, **given)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def user(row: Row[Any]) -> User:
    """Return a person, without the hash."""
    return record(User, row, state=UserState(row.state))


def group(row: Row[Any]) -> Group:
    """Return a group with what it uses."""
    return record(Group, row, quota=quota(row), used=used(row))


def queue(row: Row[Any]) -> Queue:
    """Return a queue with what it uses."""
    return record(Queue, row, quota=quota(row), used=used(row))


def quota(row: Row[Any]) -> Quota:
    """Return the quota of a group or queue."""
    return Quota(
        gpu=row.quota_gpu,
        cpu=row.quota_cpu,
        memory=row.quota_memory,
        storage=getattr(row, "quota_storage", None),
        disk=getattr(row, "quota_disk", 0),
    )


def used(row: Row[Any]) -> Resources:
    """Return what a group or queue uses."""
    return Resources(row.used_gpu, row.used_cpu, row.used_memory)


def limits(quota: Quota, table: Table) -> dict[str, int | None]:
    """Return the columns of a quota that a table has."""
    columns = {f"quota_{name}": value for name, value in asdict(quota).items()}
    return {name: value for name, value in columns.items() if name in table.c}


def pool(row: Row[Any]) -> Pool:
    """Return a pool."""
    return record(Pool, row)


def definition(row: Row[Any]) -> Definition:
    """Return a definition."""
    return record(Definition, row, kind=Kind(row.kind))


def run(row: Row[Any]) -> Run:
    """Return a run."""
    return record(
        Run,
        row,
        kind=Kind(row.kind),
        group=row.group_name,
        asks=Resources(row.gpu, row.cpu, row.memory),
        phase=Phase(row.phase),
        outcome=Outcome(row.outcome) if row.outcome else None,
        reason=reason(row),
        pools=dict(row.pools or {}),
        waits_for=tuple(row.waits_for),
    )


def reason(row: Row[Any]) -> str:
    """Return a run's reason, with what makes the phrase."""
    return from_document(row.reason, row.reason_phrase)


def charge(row: Row[Any]) -> Charge:
    """Return a charge."""
    amount = Resources(row.gpu, row.cpu, row.memory)
    return record(Charge, row, group=row.group_name, user=row.user_name, amount=amount)


def message(row: Row[Any]) -> Message:
    """Return a message of the outbox."""
    return record(Message, row, topic=Topic(row.topic))


def pod_document(pod: PodState) -> dict[str, Any]:
    """Return a pod's state as JSON; ``seen`` is added by who writes it."""
    document = asdict(pod)
    del document["run"], document["pod"], document["seen"]
    for key in ("started", "placed", "ended"):
        moment = getattr(pod, key)
        document[key] = moment.isoformat() if moment else None
    return document


def pod_state(run: str, name: str, document: Mapping[str, Any]) -> PodState:
    """Return a pod's state from its JSON."""
    known = {each.name for each in fields(PodState)}
    values = {key: value for key, value in document.items() if key in known}
    for key in ("started", "placed", "ended", "seen"):
        values[key] = datetime.fromisoformat(values[key]) if values.get(key) else None
    return PodState(run=run, pod=name, **values)
