"""Groups, their members and quotas."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from ava.db import disks, records
from ava.db.base import Base, new_id, page, reading, refuse, upsert, writing
from ava.db.lookup import Lock, group_row, user_name, user_row
from ava.db.offboarding import RunStop, stop_runs
from ava.db.outbox import enqueue
from ava.db.tables import groups, members, runs, users
from ava.db.users import next_number
from ava.domain.model import Group, Page, Phase, Quota, Topic, User
from ava.domain.names import person_problems
from ava.domain.phrases import Phrase
from ava.domain.problems import conflict, missing
from ava.domain.quota import below_use, quota_problems
from ava.domain.resources import FIELDS


class Groups(Base):
    """Groups: who shares what."""

    @writing
    def create(self, connection: Connection, name: str, quota: Quota, now: datetime) -> Group:
        """Store a group with the next free gid."""
        refuse([*person_problems(name, "name"), *quota_problems(quota, "quota")])
        before = connection.execute(select(groups.c.deleted).where(groups.c.name == name)).one_or_none()
        if before is not None:
            raise conflict(
                "name-taken",
                Phrase("The name {name} is taken.", name=name)
                if before.deleted is None
                else Phrase("The name {name} was that of a group that was deleted.", name=name),
                "name",
                Phrase("Choose another name; a group's folder and charges keep its name."),
                found=name,
            )
        row = {
            "id": new_id("g", now),
            "name": name,
            "gid": next_number(connection, "gid"),
            "created": now,
        }
        insert = groups.insert().values(**row, **records.limits(quota, groups)).returning(groups)
        stored = connection.execute(insert).one()
        enqueue(connection, now, "group-changed", name, Topic.OPERATOR, Topic.STORAGE)
        return records.group(stored)

    @reading
    def get(self, connection: Connection, name: str) -> Group:
        """Return a group by name or id, with what it uses."""
        return records.group(group_row(connection, name))

    @reading
    def list(
        self,
        connection: Connection,
        *,
        user: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Group]:
        """Return groups by name: all, or those of a user."""
        query = select(groups).where(groups.c.deleted.is_(None))
        if user is not None:
            query = query.join(members, members.c.group_name == groups.c.name)
            query = query.where(members.c.user_name == user_name(connection, user))
        return page(
            connection, query, groups.c.name, records.group, after=after, limit=limit, newest_first=False
        )

    @writing
    def set_quota(self, connection: Connection, group: str, quota: Quota, now: datetime) -> Group:
        """Change what a group may have, unless it uses more now."""
        refuse(quota_problems(quota, "quota"))
        row = group_row(connection, group)
        fits = [
            groups.c[f"used_{name}"] <= limit
            for name in FIELDS
            if (limit := getattr(quota, name)) is not None
        ]
        update = groups.update().where(groups.c.name == row.name, groups.c.deleted.is_(None), *fits)
        update = update.values(records.limits(quota, groups))
        changed = connection.execute(update.returning(groups)).one_or_none()
        if changed is None:
            used = records.used(group_row(connection, row.name, Lock.NO_KEY_UPDATE))
            refuse(below_use(quota, used, Phrase("group {name}", name=row.name)), 409)
            # Between the two statements a run has ended: now it fits.
            changed = connection.execute(update.returning(groups)).one()
        enqueue(connection, now, "group-changed", row.name, Topic.OPERATOR, Topic.SCHEDULER, Topic.STORAGE)
        return records.group(changed)

    @writing
    def delete(self, connection: Connection, group: str, now: datetime) -> None:
        """Remove a group. 409 while it has members or runs that are not finished; its charges stay."""
        name = group_row(connection, group, Lock.UPDATE).name
        people = connection.execute(
            select(func.count()).select_from(members).where(members.c.group_name == name)
        ).scalar_one()
        unfinished = runs.c.group_name == name, runs.c.phase != Phase.FINISHED
        work = connection.execute(select(func.count()).select_from(runs).where(*unfinished)).scalar_one()
        kept = disks.of_group(connection, name)
        if people or work or kept:
            raise conflict(
                "group-in-use",
                Phrase("The group {name} is still used.", name=name),
                "group",
                Phrase("Take its members out, stop its runs and have workbenches with a disk deleted first."),
                found=Phrase(
                    "{members} members, {runs} runs that are not finished, {disks} disks",
                    members=people,
                    runs=work,
                    disks=kept,
                ),
                wanted=Phrase("none"),
            )
        connection.execute(groups.update().where(groups.c.name == name).values(deleted=now))
        enqueue(connection, now, "group-changed", name, Topic.OPERATOR, deleted=True)

    @writing
    def add_member(self, connection: Connection, group: str, user: str, now: datetime) -> None:
        """Put a user into a group; the first one becomes the default. Doing it twice does no harm."""
        person = user_row(connection, user, Lock.NO_KEY_UPDATE)
        name = group_row(connection, group, Lock.KEY_SHARE).name
        row = {"group_name": name, "user_name": person.name, "since": now}
        put = upsert(connection, members).values(row).on_conflict_do_nothing()
        if connection.execute(put.returning(members.c.since)).one_or_none() is None:
            return
        if person.default_group is None:
            connection.execute(users.update().where(users.c.name == person.name).values(default_group=name))
        enqueue(connection, now, "group-changed", name, Topic.OPERATOR)

    @writing
    def remove_member(
        self, connection: Connection, group: str, user: str, now: datetime, *, stop: RunStop | None = None
    ) -> None:
        """Take a user out; the default becomes the oldest membership left.

        Runs continue, charged to the group, unless ``stop`` asks for their end: then also where the user is out already. 404
        for a user who is not a member.
        """
        person = user_row(connection, user, Lock.NO_KEY_UPDATE)
        name = group_row(connection, group).name
        which = and_(members.c.group_name == name, members.c.user_name == person.name)
        gone = connection.execute(members.delete().where(which).returning(members.c.since)).one_or_none()
        if stop is not None:
            stop_runs(connection, person.name, stop, now, group=name)
        if gone is None:
            if stop is not None:
                return
            raise missing(Phrase("user {person} in the group {name}", person=person.name, name=name), "user")
        if person.default_group == name:
            oldest = select(members.c.group_name).where(members.c.user_name == person.name)
            oldest = oldest.order_by(members.c.since, members.c.group_name).limit(1)
            default = connection.execute(oldest).scalar()
            connection.execute(
                users.update().where(users.c.name == person.name).values(default_group=default)
            )
        enqueue(connection, now, "group-changed", name, Topic.OPERATOR)

    @reading
    def members(self, connection: Connection, group: str) -> Sequence[User]:
        """Return a group's users by name."""
        name = group_row(connection, group).name
        query = select(users).join(members, members.c.user_name == users.c.name)
        query = query.where(members.c.group_name == name).order_by(users.c.name)
        return [records.user(row) for row in connection.execute(query)]
