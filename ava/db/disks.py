"""Workbenches' disks: how much of them groups have, and what was last seen of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from ava.db.base import Base, reading, writing
from ava.db.lookup import Lock, definition_row, group_row, user_row
from ava.db.records import record
from ava.db.tables import definitions, disks, members
from ava.db.types import phrased
from ava.domain.amounts import number
from ava.domain.disks import Disk
from ava.domain.model import Kind
from ava.domain.outline import columns
from ava.domain.phrases import Phrase, from_document
from ava.domain.problems import ApiError, Problem, conflict, missing


def want(
    connection: Connection,
    what: Row[Any],
    person: Row[Any],
    spec: Mapping[str, Any],
    cluster: str,
    now: datetime,
) -> str | None:
    """Give a workbench that is started the disk that it asks for; return the group that has it, None without a disk.

    The first start makes it, in the owner's default group; a later one may make it larger.
    """
    size, row = spec.get("disk"), _row(connection, what.id)
    if what.kind != Kind.WORKBENCH or (row is None and size is None):
        return None
    if row is None:
        assert size is not None  # noqa: S101 - see above
        group = group_row(connection, person.default_group, Lock.NO_KEY_UPDATE)
        _see_room(connection, group, int(size))
        new = {"definition": what.id, "group_name": group.name, "cluster": cluster, "wanted": size}
        connection.execute(disks.insert().values(new | {"promised": size, "created": now}))
        return str(group.name)
    _see_that_it_is_reached(connection, row, person, cluster, spec.get("node"))
    if size is not None:
        _resize(connection, row, person.name, int(size))
    return str(row.group_name)


def follow(connection: Connection, definition: str, owner: str, spec: Mapping[str, Any]) -> None:
    """Bring the disk of a workbench that is there to what its new definition says; less than it has is refused."""
    size = spec.get("disk")
    row = _row(connection, definition) if size is not None else None
    if row is not None and size is not None:
        _resize(connection, row, owner, int(size))


def of_group(connection: Connection, group: str) -> int:
    """Return how many disks count in a group's quota."""
    query = select(func.count()).select_from(disks).where(disks.c.group_name == group)
    return int(connection.execute(query).scalar_one())


class Disks(Base):
    """Disks."""

    @reading
    def get(self, connection: Connection, definition: str) -> Disk | None:
        """Return a workbench's disk; None where it has none yet: the first start makes it."""
        row = connection.execute(_all().where(disks.c.definition == definition)).one_or_none()
        return None if row is None else _disk(row)

    @reading
    def list_open(self, connection: Connection, cluster: str) -> Sequence[Disk]:
        """Return the disks of a cluster about which something is to be done or to be seen, oldest first."""
        due = or_(
            disks.c.wanted != disks.c.size,
            disks.c.promised > disks.c.wanted,
            disks.c.trouble != "",
            definitions.c.deleted.is_not(None),
        )
        query = _all().where(disks.c.cluster == cluster, due).order_by(disks.c.definition)
        return [_disk(row) for row in connection.execute(query)]

    @writing
    def grow(self, connection: Connection, definition: str, size: int) -> None:
        """Have a workbench's disk be larger: now where it is made, else at the first start. Less than it has is refused."""
        # The owner first (lookup.py: the order): membership does not change meanwhile.
        owner = user_row(connection, definition_row(connection, definition).owner, Lock.SHARE).name
        what = definition_row(connection, definition, Lock.NO_KEY_UPDATE)
        if what.deleted is not None:
            raise missing(Phrase("workbench {id}", id=definition), "definition")
        row = _row(connection, definition)
        if row is None and what.spec.get("disk") is None:
            raise conflict(
                "no-disk",
                Phrase("The workbench {name} has no disk.", name=what.name),
                "definition",
                Phrase("Store the workbench again with a disk, then start it."),
            )
        if row is not None:
            _resize(connection, row, owner, size)
        changed = definitions.update().where(definitions.c.id == definition)
        connection.execute(changed.values(columns(what.spec | {"disk": size})))

    @writing
    def record(
        self,
        connection: Connection,
        definition: str,
        node: str,
        size: int | None,
        trouble: str,
        *,
        settled: bool = False,
    ) -> None:
        """Keep what was seen of a disk; ``size`` None: unknown at the moment, and what was known stays.

        ``settled``: its claim has reported for a while what is wanted, so that what was promised beyond that counts no more.
        """
        row = _row(connection, definition)
        if row is None:
            return
        seen: dict[str, Any] = {"node": node, **phrased("trouble", trouble, 1000)}
        if size is not None:
            wanted = max(row.wanted, size)
            seen |= {"size": size, "wanted": wanted, "promised": max(row.promised, wanted)}
            if settled:
                seen["promised"] = wanted
        connection.execute(disks.update().where(disks.c.definition == definition).values(seen))

    @writing
    def delete(self, connection: Connection, definition: str) -> None:
        """Forget the disk of a deleted workbench, of which nothing is left; its group may have others for it."""
        connection.execute(disks.delete().where(disks.c.definition == definition))


def _all() -> Any:
    return select(disks, definitions.c.deleted).join(definitions, definitions.c.id == disks.c.definition)


def _row(connection: Connection, definition: str) -> Row[Any] | None:
    query = select(disks).where(disks.c.definition == definition).with_for_update(key_share=True)
    return connection.execute(query).one_or_none()


def _disk(row: Row[Any]) -> Disk:
    trouble = from_document(row.trouble, row.trouble_phrase)
    return record(Disk, row, group=row.group_name, deleted=row.deleted is not None, trouble=trouble)


def _resize(connection: Connection, row: Row[Any], owner: str, size: int) -> None:
    """Change what is wanted of a disk: never below what it has."""
    if size < row.size:
        raise ApiError(
            422,
            Problem(
                "disk-shrinks",
                Phrase("A disk grows and never shrinks."),
                "disk",
                number("disk", size),
                Phrase("at least {size}, which it has", size=number("disk", row.size)),
                Phrase(
                    "Ask for more, or delete the workbench, which deletes the disk with all that is on it."
                ),
            ),
        )
    if size > row.wanted:
        _see_member(connection, row, owner)
    if size > row.promised:
        _see_room(connection, group_row(connection, row.group_name, Lock.NO_KEY_UPDATE), size - row.promised)
    # A wish that is taken back gives no room free: the node may be growing the disk at this moment.
    more = {"wanted": size, "promised": max(size, row.promised)}
    connection.execute(disks.update().where(disks.c.definition == row.definition).values(more))


def _see_room(connection: Connection, group: Row[Any], more: int) -> None:
    """Refuse more than a group may have; its row is locked, so that two who ask at the same moment are one after the other."""
    if group.quota_disk is None:
        return
    query = select(func.coalesce(func.sum(disks.c.promised), 0)).where(disks.c.group_name == group.name)
    used = int(connection.execute(query).scalar_one())
    if used + more > group.quota_disk:
        raise conflict(
            "disk-quota",
            Phrase("The group {group} may not have so much of nodes' disks.", group=group.name),
            "disk",
            Phrase("Ask for less, delete a workbench with a disk, or have the group's quota raised."),
            found=Phrase(
                "{used} of {quota} are given",
                used=number("disk", used),
                quota=number("disk", group.quota_disk),
            ),
            wanted=Phrase("{amount} more", amount=number("disk", more)),
        )


def _see_that_it_is_reached(
    connection: Connection, row: Row[Any], person: Row[Any], cluster: str, node: str | None
) -> None:
    if row.cluster != cluster:
        raise conflict(
            "disk-elsewhere",
            Phrase("The workbench's disk is in another cluster."),
            "cluster",
            Phrase("Name the cluster {cluster}.", cluster=row.cluster),
            found=cluster,
            wanted=str(row.cluster),
        )
    if row.size and node not in (None, row.node):
        raise conflict(
            "disk-elsewhere",
            Phrase("The workbench's disk is on another node."),
            "node",
            Phrase("Name {node}, or none; or delete the workbench, which deletes the disk.", node=row.node),
            found=str(node),
            wanted=str(row.node),
        )
    _see_member(connection, row, person.name)


def _see_member(connection: Connection, row: Row[Any], owner: str) -> None:
    mine = members.c.group_name == row.group_name, members.c.user_name == owner
    if connection.execute(select(members.c.since).where(*mine)).one_or_none() is None:
        raise conflict(
            "disk-of-group",
            Phrase(
                "The workbench's disk belongs to the group {group}, which {owner} is not in any more.",
                group=row.group_name,
                owner=owner,
            ),
            "definition",
            Phrase(
                "Have yourself put into that group again, or delete the workbench, which deletes the disk."
            ),
            found=Phrase("{person} is not in {group}", person=owner, group=row.group_name),
            wanted=Phrase("a member"),
        )
