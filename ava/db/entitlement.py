"""Whether the owner of a run is still entitled to what it takes: active, a member of the group charged, a reader of its data.

Membership and state cannot change while the owner's row is held (``remove_member`` and ``set_user`` change under it), so
what is decided here holds until the transaction ends. The owner's row is locked before the run's (lookup.py: the order).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.data_sets import readable_by
from ava.db.lookup import Lock, run_row, user_row
from ava.db.tables import data_sets, holds, members
from ava.domain.model import UserState
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem


def locked(connection: Connection, run: str) -> tuple[Row[Any], Row[Any]]:
    """Return the owner's row, which does not change meanwhile, and the run's, which only this transaction changes; 404."""
    person = user_row(connection, run_row(connection, run).owner, Lock.SHARE)
    return person, run_row(connection, run, Lock.NO_KEY_UPDATE)


def membership(connection: Connection, person: Row[Any], run: Row[Any]) -> Sequence[Problem]:
    """Return why nothing more may be charged to a run's group for its owner, empty where it may."""
    where = Phrase("run {id}", id=run.id)
    if person.state != UserState.ACTIVE:
        what = Phrase("{person}, whose run it is, may not run anything now.", person=person.name)
        return [Problem("user-not-active", what, where, remedy=Phrase("Ask an administrator."))]
    mine = members.c.group_name == run.group_name, members.c.user_name == person.name
    if connection.execute(select(members.c.since).where(*mine)).one_or_none() is None:
        return [
            Problem(
                "not-a-member",
                Phrase(
                    "{person}, whose run it is, is not a member of the group {group}, which is charged for it.",
                    person=person.name,
                    group=run.group_name,
                ),
                where,
                Phrase("{person} is not in {group}", person=person.name, group=run.group_name),
                Phrase("a member"),
                Phrase(
                    "Stop the run and submit it again, or ask an administrator to add its owner to the group."
                ),
            )
        ]
    return []


def growth(connection: Connection, person: Row[Any], run: Row[Any]) -> Sequence[Problem]:
    """Return why a run may neither grow nor change: its owner's membership, state, and each data set that it has."""
    problems = list(membership(connection, person, run))
    query = select(data_sets.c.id, data_sets.c.name, readable_by(person.name).label("readable"))
    query = query.join(holds, holds.c.data_set == data_sets.c.id).where(holds.c.run == run.id)
    # Held against `unshare`, which changes shares under the data set's row.
    held = query.order_by(data_sets.c.id).with_for_update(read=True, of=data_sets)
    return problems + [
        revoked(one, person.name) for one in connection.execute(held).all() if not one.readable
    ]


def revoked(data_set: Row[Any], owner: str) -> Problem:
    """Return that a data set is no longer shared with the owner of a run."""
    what = Phrase(
        "The data set {data_set} is no longer shared with {owner}.", data_set=data_set.name, owner=owner
    )
    return Problem(
        "data-set-revoked",
        what,
        Phrase("data set {id}", id=data_set.id),
        remedy=Phrase("Ask its owner, or stop the run."),
    )
