"""What Alembic runs: the caller's connection, inside its transaction."""

from alembic import context

from ava.db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
