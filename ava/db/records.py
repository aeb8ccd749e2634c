"""Rows of the database's tables as the domain's records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

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


def user(row: Row[Any]) -> User:
    """Return a person, without the hash."""
    return User(
        id=row.id,
        name=row.name,
        email=row.email,
        uid=row.uid,
        admin=row.admin,
        state=UserState(row.state),
        default_group=row.default_group,
        created=row.created,
        entered=row.entered,
        email_confirmed=row.email_confirmed,
    )


def group(row: Row[Any]) -> Group:
    """Return a group with what it uses."""
    return Group(id=row.id, name=row.name, gid=row.gid, quota=quota(row), used=used(row), created=row.created)


def queue(row: Row[Any]) -> Queue:
    """Return a queue with what it uses."""
    return Queue(
        id=row.id, name=row.name, pool=row.pool, quota=quota(row), used=used(row), priority=row.priority
    )


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
    return Pool(
        id=row.id,
        name=row.name,
        gpu=row.gpu,
        selector=row.selector,
        cpu_ratio=row.cpu_ratio,
        memory_ratio=row.memory_ratio,
        gpu_slots=row.gpu_slots,
    )


def definition(row: Row[Any]) -> Definition:
    """Return a definition."""
    return Definition(
        id=row.id,
        kind=Kind(row.kind),
        owner=row.owner,
        name=row.name,
        spec=row.spec,
        created=row.created,
        deleted=row.deleted,
    )


def run(row: Row[Any]) -> Run:
    """Return a run."""
    return Run(
        id=row.id,
        definition=row.definition,
        kind=Kind(row.kind),
        name=row.name,
        owner=row.owner,
        group=row.group_name,
        queue=row.queue,
        priority=row.priority,
        cluster=row.cluster,
        key=row.key,
        spec=row.spec,
        asks=Resources(row.gpu, row.cpu, row.memory),
        phase=Phase(row.phase),
        created=row.created,
        admitted=row.admitted,
        stop=row.stop,
        finished=row.finished,
        outcome=Outcome(row.outcome) if row.outcome else None,
        reason=reason(row),
        attempt=row.attempt,
        started=row.started,
        pools=dict(row.pools or {}),
        waits_for=tuple(row.waits_for),
    )


def reason(row: Row[Any]) -> str:
    """Return a run's reason, with what makes the phrase."""
    return from_document(row.reason, row.reason_phrase)


def charge(row: Row[Any]) -> Charge:
    """Return a charge."""
    return Charge(
        id=row.id,
        run=row.run,
        group=row.group_name,
        queue=row.queue,
        user=row.user_name,
        amount=Resources(row.gpu, row.cpu, row.memory),
        began=row.began,
        ended=row.ended,
        allocated=row.allocated,
    )


def message(row: Row[Any]) -> Message:
    """Return a message of the outbox."""
    return Message(
        seq=row.seq,
        topic=Topic(row.topic),
        kind=row.kind,
        object=row.object,
        payload=row.payload,
        created=row.created,
    )


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
