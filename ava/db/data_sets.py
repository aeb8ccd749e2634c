"""Data sets: whose they are, who may read them, how much one owner may have of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, Select, exists, func, or_, select

from ava.db.base import Base, new_id, page, reading, refuse, upsert, writing
from ava.db.lookup import Lock, group_row, run_row, user_row
from ava.db.outbox import enqueue
from ava.db.records import record
from ava.db.tables import data_sets, holds, members, runs, shares, uploads
from ava.domain.amounts import amount
from ava.domain.data_sets import OWN, DataSet, Share
from ava.domain.data_sets import source as parsed
from ava.domain.model import Page, Phase, Topic
from ava.domain.names import is_id, name_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict, missing

MOST = 500
"""Data sets of one owner."""


class DataSets(Base):
    """Data sets."""

    @writing
    def create(
        self,
        connection: Connection,
        owner: str,
        name: str,
        source: Mapping[str, Any],
        now: datetime,
        *,
        quota: int | None = None,
        most: int | None = None,
    ) -> DataSet:
        """Store a data set. The same again changes nothing; another source under the same name is 409.

        So is a limit (``quota``) by which all data sets of the owner may have more than ``most`` together, bytes.
        """
        refuse(name_problems(name, "name"))
        try:
            kept = parsed(source).model_dump(exclude_none=True)
        except ValidationError as error:
            reply = "; ".join(e["msg"] for e in error.errors())[:400]
            found = shown(str(dict(source)))
            problem = Problem("source-invalid", Phrase("There is no such source."), "source", found, reply)
            raise ApiError(422, problem) from None
        # Anyone who makes another one of this owner at the same time waits here.
        person = user_row(connection, owner, Lock.NO_KEY_UPDATE)
        if kept["kind"] != "folder":
            quota = None
        row = {
            "id": new_id("f", now),
            "owner": person.name,
            "name": name,
            "source": kept,
            "quota": quota,
            "created": now,
        }
        if connection.execute(_own(person.name, name)).first() is None:
            _check_quota(connection, person.name, quota, most)
        put = upsert(connection, data_sets).values(row).on_conflict_do_nothing()
        made = connection.execute(put.returning(data_sets)).one_or_none()
        if made is None:
            there = connection.execute(_own(person.name, name)).one()
            if there.source != kept:
                raise conflict(
                    "name-taken",
                    Phrase("The data set {name} has another source.", name=name),
                    "name",
                    Phrase("Choose another name, or delete that one."),
                    found=name,
                )
            return record(DataSet, there)
        enqueue(connection, now, "data-set-changed", made.id, Topic.STORAGE)
        return record(DataSet, made)

    @reading
    def get(self, connection: Connection, id: str) -> DataSet:
        """Return a data set that is not deleted."""
        return record(DataSet, data_set_row(connection, id))

    @reading
    def list(
        self, connection: Connection, *, reader: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[DataSet]:
        """Return data sets, newest first: all, or those that a user may read."""
        query = select(data_sets).where(data_sets.c.deleted.is_(None))
        if reader is not None:
            query = query.where(readable_by(user_row(connection, reader).name))
        return page(
            connection, query, data_sets.c.id, lambda row: record(DataSet, row), after=after, limit=limit
        )

    @reading
    def may_read(self, connection: Connection, id: str, user: str) -> bool:
        """Return whether a data set is a user's own, or shared with them or a group of theirs."""
        query = select(data_sets.c.id).where(
            data_sets.c.id == id, data_sets.c.deleted.is_(None), readable_by(user)
        )
        return connection.execute(query).one_or_none() is not None

    @writing
    def set_quota(self, connection: Connection, id: str, quota: int | None, now: datetime) -> DataSet:
        """Choose a data set's limit, bytes."""
        data_set_row(connection, id)
        update = data_sets.update().where(data_sets.c.id == id).values(quota=quota).returning(data_sets)
        enqueue(connection, now, "data-set-changed", id, Topic.STORAGE)
        return record(DataSet, connection.execute(update).one())

    @writing
    def share(self, connection: Connection, id: str, kind: str, who: str, now: datetime) -> None:
        """Let a user or the members of a group read a data set. Idempotent."""
        find = {"user": user_row, "group": group_row}[kind]
        name = find(connection, who, Lock.KEY_SHARE).name
        data_set_row(connection, id, Lock.KEY_SHARE)
        row = {"data_set": id, "kind": kind, "who": name, "since": now}
        connection.execute(upsert(connection, shares).values(row).on_conflict_do_nothing())

    @writing
    def unshare(self, connection: Connection, id: str, kind: str, who: str) -> None:
        """Take that back: no further run gets it; those that have it keep it until they end. 404 where it was not shared."""
        data_set_row(connection, id, Lock.NO_KEY_UPDATE)
        which = shares.c.data_set == id, shares.c.kind == kind, shares.c.who == who
        if connection.execute(shares.delete().where(*which)).rowcount == 0:
            raise missing(f"share of the data set with the {kind} {shown(who)}", "share")

    @reading
    def shares(self, connection: Connection, id: str) -> Sequence[Share]:
        """Return with whom a data set is shared."""
        query = select(shares).where(shares.c.data_set == id).order_by(shares.c.kind, shares.c.who)
        return [record(Share, row) for row in connection.execute(query)]

    @reading
    def uses(self, connection: Connection, id: str) -> Sequence[tuple[str, bool, bool]]:
        """Return runs that name a data set and have not finished: id, whether it writes, whether it was admitted."""
        return _users(connection, id)

    @reading
    def of_run(self, connection: Connection, run: str) -> Sequence[tuple[DataSet, bool]]:
        """Return the data sets of a run that was admitted, and whether it writes each."""
        run_row(connection, run)
        query = select(data_sets, holds.c.write).join(holds, holds.c.data_set == data_sets.c.id)
        query = query.where(holds.c.run == run, holds.c.since.is_not(None)).order_by(data_sets.c.id)
        return [(record(DataSet, row), bool(row.write)) for row in connection.execute(query)]

    @reading
    def promised(self, connection: Connection, owner: str) -> int:
        """Return the sum of the limits of an owner's data sets, bytes; those without a limit are not in it."""
        return quota_sum(connection, owner)

    @writing
    def delete(self, connection: Connection, id: str, now: datetime) -> None:
        """Delete a data set with its files; 409 while a run that has not finished names it."""
        row = data_set_row(connection, id, Lock.UPDATE)
        if using := _users(connection, id):
            raise conflict(
                "data-set-in-use",
                Phrase("The data set {name} is still used.", name=row.name),
                Phrase("data set"),
                Phrase("Stop these runs, or wait until they have ended."),
                found=", ".join(run for run, _, _ in using[:10]) + ("" if len(using) <= 10 else " …"),
                wanted=Phrase("no run"),
            )
        connection.execute(uploads.delete().where(uploads.c.data_set == id))
        connection.execute(shares.delete().where(shares.c.data_set == id))
        # Nothing is to be removed of what others keep.
        gone = None if isinstance(parsed(row.source), OWN) else now
        connection.execute(data_sets.update().where(data_sets.c.id == id).values(deleted=now, removed=gone))
        enqueue(connection, now, "data-set-changed", id, Topic.STORAGE)

    @writing
    def while_unused(
        self, connection: Connection, id: str, action: Callable[[Callable[[], None]], None]
    ) -> None:
        """Do something with a data set's files while no run has it, and none gets it meanwhile; 409 where one has it.

        ``action`` is given a function that raises where the lock was lost: PostgreSQL ends a transaction that is idle for
        30 s, as when a file system hangs. It calls it right before what cannot be undone.
        """
        row = data_set_row(connection, id, Lock.NO_KEY_UPDATE)
        if row.readers or row.writers:
            having = [run for run, _, since in _users(connection, id) if since]
            raise conflict(
                "data-set-in-use",
                Phrase(
                    "The data set {name} is {how} by runs.",
                    name=row.name,
                    how=Phrase("written") if row.writers else Phrase("read"),
                ),
                Phrase("data set"),
                Phrase("Wait until they have ended, or stop them; then do it again."),
                found=", ".join(having[:10]),
                wanted=Phrase("no run"),
            )
        action(lambda: connection.execute(select(data_sets.c.id).where(data_sets.c.id == row.id)).close())

    @writing
    def set_removed(self, connection: Connection, id: str, now: datetime) -> None:
        """Say that nothing is left of a deleted data set."""
        update = data_sets.update().where(data_sets.c.id == id, data_sets.c.deleted.is_not(None))
        connection.execute(update.values(removed=now))


def data_set_row(connection: Connection, id: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return the row of a data set that is not deleted; 404."""
    query = select(data_sets).where(data_sets.c.id == id, data_sets.c.deleted.is_(None))
    if lock is not Lock.NONE:
        query = query.with_for_update(
            read=lock is Lock.KEY_SHARE, key_share=lock in (Lock.KEY_SHARE, Lock.NO_KEY_UPDATE)
        )
    row = connection.execute(query).one_or_none() if is_id(id) else None
    if row is None:
        raise missing(Phrase("data set {id}", id=shown(id)), Phrase("data set"))
    return row


def readable_by(user: str) -> ColumnElement[bool]:
    """Return the condition that a data set is a user's own, or shared with them or a group that they are in now."""
    groups = select(members.c.group_name).where(members.c.user_name == user)
    shared = exists().where(
        shares.c.data_set == data_sets.c.id,
        or_(
            (shares.c.kind == "user") & (shares.c.who == user),
            (shares.c.kind == "group") & shares.c.who.in_(groups),
        ),
    )
    return or_(data_sets.c.owner == user, shared)


def _own(owner: str, *names: str) -> Select[Any]:
    query = select(data_sets).where(data_sets.c.owner == owner, data_sets.c.deleted.is_(None))
    return query.where(data_sets.c.name.in_(names)) if names else query


def _users(connection: Connection, id: str) -> list[tuple[str, bool, bool]]:
    query = select(holds.c.run, holds.c.write, holds.c.since).join(runs, runs.c.id == holds.c.run)
    query = query.where(holds.c.data_set == id, runs.c.phase != Phase.FINISHED).order_by(holds.c.run)
    return [(row.run, bool(row.write), row.since is not None) for row in connection.execute(query)]


def quota_sum(connection: Connection, owner: str) -> int:
    """Return the sum of the limits of an owner's data sets, bytes. A deleted data set counts until its files are gone."""
    query = select(func.coalesce(func.sum(data_sets.c.quota), 0))
    query = query.where(data_sets.c.owner == owner, data_sets.c.removed.is_(None))
    return int(connection.execute(query).scalar_one())


def _check_quota(connection: Connection, owner: str, quota: int | None, most: int | None) -> None:
    """Refuse (409) a further data set of an owner who has MOST, or whose limits would be more than ``most`` together."""
    query = select(func.count()).select_from(data_sets)
    query = query.where(data_sets.c.owner == owner, data_sets.c.deleted.is_(None))
    if (count := connection.execute(query).scalar_one()) >= MOST:
        what = Phrase("{owner} has as many data sets as one user may have.", owner=owner)
        remedy = Phrase("Delete data sets that are not needed.")
        raise conflict(
            "too-many-data-sets",
            what,
            "name",
            remedy,
            found=str(count),
            wanted=Phrase("less than {most}", most=MOST),
        )
    if most is None or quota is None:
        return
    there = quota_sum(connection, owner)
    if there + quota > most:
        raise conflict(
            "data-sets-quota",
            Phrase(
                "All data sets of {owner} may have {most} together.",
                owner=owner,
                most=amount("storage", most),
            ),
            "quota",
            Phrase(
                "Name a smaller limit, delete data sets that are not needed, or ask an administrator to lower the limit of one."
            ),
            found=Phrase(
                "{there} of the others and {quota} of this one",
                there=amount("storage", there),
                quota=amount("storage", quota),
            ),
            wanted=Phrase("at most {most}", most=amount("storage", most)),
        )
