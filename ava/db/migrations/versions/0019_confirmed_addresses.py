"""When users' addresses were confirmed.

The database does not know who typed an existing address, so accounts that were approved keep theirs as confirmed: an upgrade
silences no user. Accounts that were registered by the form and not approved yet have received nothing so far: they confirm.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column."""
    op.add_column("users", sa.Column("email_confirmed", sa.DateTime(timezone=True)))
    op.execute(
        "UPDATE users SET email_confirmed = CURRENT_TIMESTAMP WHERE state <> 'pending'"
        " OR EXISTS (SELECT 1 FROM identities WHERE identities.user_name = users.name)"
    )
