"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
# Where the code of the former revision reads and writes these tables correctly after it, add: BACKWARD_COMPATIBLE = True.
# `avadm upgrade ava` goes back to the former version then; it does not after any other migration.


def upgrade() -> None:
    """Change the tables, keeping what is in them."""
    ${upgrades if upgrades else "raise NotImplementedError"}
