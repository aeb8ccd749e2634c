"""Definitions: what users stored to be run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from ava.db import disks, records
from ava.db.base import Base, new_id, outlined, page, reading, refuse, writing
from ava.db.lookup import Lock, definition_row, user_name, user_row
from ava.db.outbox import enqueue
from ava.db.tables import definitions, runs
from ava.domain.model import Definition, Kind, Page, Phase, Topic
from ava.domain.names import name_problems
from ava.domain.outline import columns, size_problems
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict, missing, taken

MOST_DEFINITIONS = 1000
"""Of one user. Requests at the same moment may exceed it by a few, which does no harm."""


class Definitions(Base):
    """Definitions of workbenches, trainings and services."""

    @writing
    def save(
        self,
        connection: Connection,
        owner: str,
        kind: Kind,
        name: str,
        spec: Mapping[str, Any],
        now: datetime,
        *,
        replace: bool = False,
    ) -> Definition:
        """Store a definition. The same again changes nothing; another spec is 409 unless ``replace``."""
        return save_definition(connection, owner, kind, name, spec, now, replace=replace)

    @reading
    def get(self, connection: Connection, id: str) -> Definition:
        """Return a definition that is not deleted."""
        row = definition_row(connection, id)
        if row.deleted is not None:
            raise missing(Phrase("definition {id}", id=id), "definition")
        return records.definition(row)

    @reading
    def list(
        self,
        connection: Connection,
        *,
        owner: str | None = None,
        kind: Kind | None = None,
        name: str | None = None,
        after: str | None = None,
        limit: int = 50,
        whole: bool = False,
    ) -> Page[Definition]:
        """Return definitions that are not deleted, newest first; of each the outline of its spec, unless it is ``whole``."""
        query = select(*outlined(definitions, whole=whole)).where(definitions.c.deleted.is_(None))
        if owner is not None:
            query = query.where(definitions.c.owner == user_name(connection, owner))
        if kind is not None:
            query = query.where(definitions.c.kind == Kind(kind))
        if name is not None:
            query = query.where(definitions.c.name == name)
        return page(connection, query, definitions.c.id, records.definition, after=after, limit=limit)

    @writing
    def delete(self, connection: Connection, id: str, now: datetime) -> None:
        """Mark a definition as deleted; 409 while a run of it is not finished. Its runs and charges stay."""
        row = definition_row(connection, id, Lock.UPDATE)
        if row.deleted is not None:
            raise missing(Phrase("definition {id}", id=id), "definition")
        unfinished = runs.c.definition == id, runs.c.phase != Phase.FINISHED
        open_runs = connection.execute(select(func.count()).select_from(runs).where(*unfinished)).scalar_one()
        if open_runs:
            raise conflict(
                "definition-in-use",
                Phrase("Runs of {name} are not finished.", name=row.name),
                "definition",
                Phrase("Stop its runs first."),
                found=Phrase("{count} runs that are not finished", count=open_runs),
                wanted=Phrase("none"),
            )
        connection.execute(definitions.update().where(definitions.c.id == id).values(deleted=now))
        enqueue(connection, now, "definition-deleted", id, Topic.OPERATOR)


def save_definition(
    connection: Connection,
    owner: str,
    kind: Kind,
    name: str,
    spec: Mapping[str, Any],
    now: datetime,
    *,
    replace: bool,
) -> Definition:
    """Store a definition, within a transaction (``Definitions.save``)."""
    refuse(name_problems(name, "name"))
    wanted = _as_json(spec)
    refuse(size_problems(wanted))
    person = user_row(connection, owner, Lock.SHARE).name
    query = select(definitions).where(
        definitions.c.owner == person,
        definitions.c.kind == Kind(kind),
        definitions.c.name == name,
        definitions.c.deleted.is_(None),
    )
    before = connection.execute(query.with_for_update(key_share=True)).one_or_none()
    if before is None:
        row = {"id": new_id("d", now), "kind": Kind(kind), "owner": person, "name": name}
        row |= {**columns(wanted), "created": now}
        _see_number(connection, person)
        insert = definitions.insert().values(row).returning(definitions)
        return records.definition(connection.execute(insert).one())
    if before.spec == wanted:
        return records.definition(before)
    if not replace:
        raise taken(before.kind, name, before.id, "definition-exists")
    disks.follow(connection, before.id, person, wanted)
    update = definitions.update().where(definitions.c.id == before.id).values(columns(wanted))
    return records.definition(connection.execute(update.returning(definitions)).one())


def _see_number(connection: Connection, owner: str) -> None:
    mine = definitions.c.owner == owner, definitions.c.deleted.is_(None)
    count = connection.execute(select(func.count()).select_from(definitions).where(*mine)).scalar_one()
    if count >= MOST_DEFINITIONS:
        raise conflict(
            "too-many-definitions",
            Phrase("{owner} has as many definitions as one user may have.", owner=owner),
            "name",
            Phrase("Delete definitions that are not needed any more."),
            found=str(count),
            wanted=Phrase("less than {most}", most=MOST_DEFINITIONS),
        )


def _as_json(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec as it is read back: lists for tuples, text for keys."""
    try:
        plain = json.loads(json.dumps(dict(spec), default=dict))
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(
            "document-invalid", Phrase("This is no JSON that can be kept."), "spec", str(error)[:80]
        )
        raise ApiError(422, problem) from error
    return dict(plain)
