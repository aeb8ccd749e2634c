"""Host names of services: each keeps its own over all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.base import Base, reading
from ava.db.tables import runs
from ava.db.tables_services import services
from ava.domain.model import Kind, Phase
from ava.domain.model_services import address, former_address

NAMED = select(services, runs.c.owner, runs.c.name).join(runs, runs.c.id == services.c.run)
"""Rows of services with what their former addresses are made of."""


class ServiceAddressStore(Base):
    """Which services can be called."""

    @reading
    def addresses(self, connection: Connection) -> Mapping[str, str]:
        """Return the group of each admitted service, by the first label of the service's host name."""
        query = select(services.c.address, runs.c.owner, runs.c.name, runs.c.group_name)
        query = query.join(runs, runs.c.id == services.c.run)
        query = query.where(runs.c.kind == Kind.SERVICE.value, runs.c.phase == Phase.ADMITTED.value)
        return {of_row(row): row.group_name for row in connection.execute(query.order_by(runs.c.id))}


def of_row(row: Any) -> str:
    """Return the label of a service, from a row with its address, and its run's owner and name."""
    return str(row.address or former_address(row.owner, row.name))


def of_new_run(connection: Connection, row: Row[Any]) -> str | None:
    """Return what is kept as the address of a service's new run: that of its last run, a new one where it has none."""
    query = select(services.c.address).join(runs, runs.c.id == services.c.run)
    query = query.where(runs.c.definition == row.definition).order_by(services.c.run.desc()).limit(1)
    before = connection.execute(query).one_or_none()
    return address(row.owner, row.name) if before is None else before.address
