"""Workbenches: what each keeps over its runs, and who may come in now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, func, select

from ava.db import records
from ava.db.base import Base, reading, upsert, writing
from ava.db.lookup import Lock, definition_row, run_row, user_row
from ava.db.outbox import enqueue
from ava.db.tables import benches, definitions, idle_exempt, keys, pods, runs, secrets, users
from ava.db.types import phrased, plain
from ava.domain.model import Kind, Phase, Run, Topic, UserState
from ava.domain.phrases import Phrase
from ava.domain.workbench import AccessState, Workbench

_RUNS_NOW = and_(
    runs.c.kind == Kind.WORKBENCH.value, runs.c.phase == Phase.ADMITTED.value, runs.c.stop.is_(None)
)


def _may_enter(entered_since: datetime | None) -> list[ColumnElement[bool]]:
    """Return the conditions of users who may log in and whose last login was at some time or later; None: at any time."""
    found: list[ColumnElement[bool]] = [users.c.state == UserState.ACTIVE.value]
    if entered_since is not None:
        found.append(func.coalesce(users.c.entered, users.c.created) >= entered_since)
    return found


class Workbenches(Base):
    """What workbenches keep over their runs, and who may enter."""

    @reading
    def get(self, connection: Connection, definition: str) -> Workbench | None:
        """Return what a workbench keeps over its runs; None before its first one."""
        row = connection.execute(select(benches).where(benches.c.definition == definition)).one_or_none()
        return None if row is None else Workbench(**row._mapping)

    @writing
    def create(self, connection: Connection, new: Workbench) -> Workbench:
        """Keep it for a definition that has none, and return what is kept: done twice, the first stays."""
        definition_row(connection, new.definition, Lock.KEY_SHARE)
        row = {name: getattr(new, name) for name in benches.c.keys()}  # noqa: SIM118 - a table's columns
        put = upsert(connection, benches).values(row).on_conflict_do_nothing(index_elements=["definition"])
        connection.execute(put)
        kept = connection.execute(select(benches).where(benches.c.definition == new.definition)).one()
        return Workbench(**kept._mapping)

    @writing
    def record_activity(self, connection: Connection, definition: str, active: datetime) -> None:
        """Keep that its user was at work in it; an earlier time than the known one changes nothing."""
        later = benches.c.active.is_(None) | (benches.c.active < active)
        which = benches.update().where(benches.c.definition == definition, later)
        connection.execute(which.values(active=active, warned=None))

    @writing
    def warn(self, connection: Connection, run: str, now: datetime, until: datetime) -> bool:
        """Tell the owner that the workbench is stopped at ``until`` unless it is used; once for each idle stretch."""
        row = run_row(connection, run)
        open_ = benches.c.definition == row.definition, benches.c.warned.is_(None)
        if connection.execute(benches.update().where(*open_).values(warned=now)).rowcount == 0:
            return False
        enqueue(
            connection,
            now,
            "bench-idle",
            run,
            Topic.NOTICE,
            owner=row.owner,
            name=row.name,
            until=until.isoformat(),
        )
        return True

    @writing
    def stop_idle(self, connection: Connection, run: str, now: datetime, seen: Workbench, *, by: str) -> bool:
        """Ask for the end of a workbench that is still idle as it was seen; False where its user came in meanwhile."""
        row = run_row(connection, run, Lock.NO_KEY_UPDATE)
        kept = select(benches.c.active, benches.c.warned).where(benches.c.definition == row.definition)
        now_kept = connection.execute(kept.with_for_update()).one_or_none()
        if now_kept is None or (now_kept.active, now_kept.warned) != (seen.active, seen.warned):
            return False
        if row.phase != Phase.ADMITTED or row.stop is not None:
            return False
        reason = Phrase("Stopped by {by}.", by=plain(by, 200))
        report = {"stop": now, **phrased("reason", reason)}
        connection.execute(runs.update().where(runs.c.id == run).values(report))
        enqueue(connection, now, "run-stop", run, Topic.OPERATOR, by=plain(by, 200))
        return True

    @writing
    def set_idle_exempt(self, connection: Connection, definition: str, exempt: bool, now: datetime) -> None:
        """Choose whether a workbench is never stopped for being idle."""
        definition_row(connection, definition, Lock.KEY_SHARE)
        connection.execute(idle_exempt.delete().where(idle_exempt.c.definition == definition))
        if exempt:
            connection.execute(idle_exempt.insert().values(definition=definition, since=now))
            put = benches.update().where(benches.c.definition == definition)
            connection.execute(put.values(warned=None))

    @reading
    def is_idle_exempt(self, connection: Connection, definition: str) -> bool:
        """Return whether a workbench is never stopped for being idle."""
        query = select(idle_exempt.c.since).where(idle_exempt.c.definition == definition)
        return connection.execute(query).one_or_none() is not None

    @reading
    def idle_candidates(self, connection: Connection, cluster: str) -> Sequence[tuple[Run, Workbench]]:
        """Return the workbenches of a cluster that run and may be stopped for being idle, each with what is kept of it."""
        query = select(runs).join(benches, benches.c.definition == runs.c.definition)
        query = query.outerjoin(idle_exempt, idle_exempt.c.definition == runs.c.definition)
        query = query.where(_RUNS_NOW, runs.c.cluster == cluster, idle_exempt.c.since.is_(None))
        found = [records.run(row) for row in connection.execute(query.order_by(runs.c.id))]
        kept = select(benches).where(benches.c.definition.in_([run.definition for run in found]))
        by_id = {row.definition: Workbench(**row._mapping) for row in connection.execute(kept)}
        return [(run, by_id[run.definition]) for run in found if run.definition in by_id]

    @reading
    def access(self, connection: Connection, session: str, definition: str, now: datetime) -> AccessState:
        """Return who comes by a session (its digest), and what is behind a workbench's door now."""
        who = connection.execute(
            select(users)
            .join(secrets, secrets.c.user_name == users.c.name)
            .where(
                secrets.c.digest == session,
                secrets.c.kind == "session",
                secrets.c.until > now,
                users.c.state == UserState.ACTIVE.value,
            )
        ).one_or_none()
        owner = connection.execute(
            select(definitions.c.owner).where(definitions.c.id == definition, definitions.c.deleted.is_(None))
        ).scalar_one_or_none()
        run = connection.execute(select(runs).where(runs.c.definition == definition, _RUNS_NOW)).one_or_none()
        kept = connection.execute(select(benches).where(benches.c.definition == definition)).one_or_none()
        there = connection.execute(select(pods).where(pods.c.run == run.id)).all() if run is not None else []
        return AccessState(
            user=None if who is None else records.user(who),
            owner=owner,
            run=None if run is None else records.run(run),
            bench=None if kept is None else Workbench(**kept._mapping),
            pods=tuple(records.pod_state(row.run, row.pod, row.state) for row in there),
        )

    @reading
    def active_sessions(
        self,
        connection: Connection,
        pairs: Sequence[tuple[str, str]],
        now: datetime,
        entered_since: datetime | None = None,
    ) -> Collection[tuple[str, str]]:
        """Return those pairs of a session's digest and a workbench that may continue: the owner's, and it is to run.

        ``entered_since``: the owner's last login must not be before.
        """
        asked = set(pairs)
        query = select(secrets.c.digest, definitions.c.id).join(users, secrets.c.user_name == users.c.name)
        query = query.join(definitions, definitions.c.owner == users.c.name)
        query = query.join(runs, and_(runs.c.definition == definitions.c.id, _RUNS_NOW))
        query = query.where(secrets.c.digest.in_({session for session, _ in asked}))
        query = query.where(definitions.c.id.in_({one for _, one in asked}), definitions.c.deleted.is_(None))
        query = query.where(secrets.c.kind == "session", secrets.c.until > now)
        query = query.where(*_may_enter(entered_since))
        return asked & {(row.digest, row.id) for row in connection.execute(query)}

    @reading
    def list_by_key(self, connection: Connection, line: str) -> Sequence[Run]:
        """Return the runs of workbenches, not asked to stop, of all who stored this ssh key and may log in."""
        query = (
            select(runs)
            .join(users, users.c.name == runs.c.owner)
            .join(keys, keys.c.user_name == users.c.name)
        )
        query = query.where(keys.c.value == line, keys.c.kind == "ssh", _RUNS_NOW)
        query = query.where(users.c.state == UserState.ACTIVE.value)
        return [records.run(row) for row in connection.execute(query.order_by(runs.c.id))]

    @reading
    def keys_stay(
        self,
        connection: Connection,
        pairs: Sequence[tuple[str, Sequence[str]]],
        entered_since: datetime | None = None,
    ) -> Sequence[bool]:
        """Return for each ssh key, and the workbenches that it has reached, whether it would still be let in to them.

        True where one of these workbenches is left, and each owner of those may log in (last at ``entered_since`` or later) and
        keeps the key.
        """
        named = {one for _, definitions_ in pairs for one in definitions_}
        lines = {line for line, _ in pairs}
        query = select(definitions.c.id, definitions.c.owner).where(
            definitions.c.id.in_(named), definitions.c.deleted.is_(None)
        )
        owners = {row.id: row.owner for row in connection.execute(query)}
        query = select(keys.c.value, keys.c.user_name).join(users, users.c.name == keys.c.user_name)
        query = query.where(keys.c.value.in_(lines), keys.c.kind == "ssh", *_may_enter(entered_since))
        kept = {(row.value, row.user_name) for row in connection.execute(query)}
        found = []
        for line, some in pairs:
            whose = {owners[one] for one in some if one in owners}
            found.append(bool(whose) and all((line, owner) in kept for owner in whose))
        return found


def enqueue_key_changes(connection: Connection, user: str, now: datetime) -> None:
    """Have the operator look at a user's workbenches: their keys have changed."""
    person = user_row(connection, user).name
    for run in connection.execute(select(runs.c.id).where(runs.c.owner == person, _RUNS_NOW)).scalars():
        enqueue(connection, now, "run-keys", run, Topic.OPERATOR)
