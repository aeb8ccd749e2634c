"""What one owner may have: the number of data sets, and the sum of their limits, which the shared file system enforces."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from ava.db.base import Base, reading
from ava.db.tables_folders import data_sets
from ava.domain.amounts import amount
from ava.domain.phrases import Phrase
from ava.domain.problems import conflict

MOST = 500
"""Data sets of one owner."""


class DataSetQuotaStore(Base):
    """Sums of limits."""

    @reading
    def data_set_usage(self, connection: Connection, owner: str) -> int:
        """Return the sum of the limits of an owner's data sets, bytes; those without a limit are not in it."""
        return promised(connection, owner)


def promised(connection: Connection, owner: str) -> int:
    """Return that sum. A deleted data set counts until its files are gone."""
    query = select(func.coalesce(func.sum(data_sets.c.quota), 0))
    query = query.where(data_sets.c.owner == owner, data_sets.c.removed.is_(None))
    return int(connection.execute(query).scalar_one())


def see(connection: Connection, owner: str, quota: int | None, most: int | None) -> None:
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
    there = promised(connection, owner)
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
