"""Submissions: a definition is stored and started in one transaction, both or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from ava.db import records
from ava.db.base import Base, reading, writing
from ava.db.definitions import save_definition
from ava.db.lookup import group_row, user_row
from ava.db.model_services import update_service
from ava.db.pools import POOLS_BY_NAME
from ava.db.queues import QUEUES_BY_PRIORITY
from ava.db.runs import create_run
from ava.db.tables import keys
from ava.domain.model import Group, Kind, Pool, Queue, Run
from ava.domain.problems import ApiError
from ava.domain.resources import Resources


@dataclass(frozen=True, slots=True)
class Submission:
    """How a definition is started.

    Attributes:
        document: the definition as the user wrote it.
        spec: the same with what the site fills in: image, command, replicas.
        after: ids of runs that have to succeed first.
    """

    key: str
    document: Mapping[str, Any]
    spec: Mapping[str, Any]
    asks: Resources
    queue: str
    priority: int
    cluster: str
    after: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SubmissionContext:
    """What a definition is checked against.

    Attributes:
        group: the owner's default group; None without one.
        deploy_keys: names of the owner's keys for git.
    """

    queues: Sequence[Queue]
    pools: Sequence[Pool]
    group: Group | None
    deploy_keys: Sequence[str]


class Submissions(Base):
    """Definitions that are started."""

    @reading
    def context(self, connection: Connection, owner: str) -> SubmissionContext:
        """Return what an owner's definition is checked against."""
        person = user_row(connection, owner)
        mine = select(keys.c.name).where(keys.c.user_name == person.name, keys.c.kind == "deploy")
        group = person.default_group
        return SubmissionContext(
            [records.queue(row) for row in connection.execute(QUEUES_BY_PRIORITY)],
            [records.pool(row) for row in connection.execute(POOLS_BY_NAME)],
            records.group(group_row(connection, group)) if group is not None else None,
            sorted(connection.execute(mine).scalars()),
        )

    @writing
    def create(
        self,
        connection: Connection,
        owner: str,
        kind: Kind,
        name: str,
        submission: Submission,
        now: datetime,
        *,
        replace: bool,
    ) -> Run:
        """Store a definition and start it; a service that runs takes it instead. Errors are those of both."""
        saved = save_definition(connection, owner, kind, name, submission.document, now, replace=replace)
        return _start(connection, saved.id, submission, now)

    @writing
    def start(self, connection: Connection, definition: str, submission: Submission, now: datetime) -> Run:
        """Start a stored definition; a service that runs takes its new definition instead."""
        return _start(connection, definition, submission, now)


def _start(connection: Connection, definition: str, submission: Submission, now: datetime) -> Run:
    try:
        return create_run(
            connection,
            definition,
            submission.key,
            now,
            asks=submission.asks,
            spec=submission.spec,
            queue=submission.queue,
            priority=submission.priority,
            cluster=submission.cluster,
            after=submission.after,
            document=submission.document,
        )
    except ApiError as refused:
        # Nothing has been written before this refusal.
        if refused.problems[0].code != "service-running":
            raise
        return update_service(connection, refused.problems[0].found, submission.spec, now)
