"""What Alembic runs: the caller's connection, inside its transaction."""

from alembic import context

# Their tables are known by being imported.
from ava.db import tables_folders, tables_identities, tables_images, tables_services, tables_workbenches  # noqa: F401
from ava.db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
