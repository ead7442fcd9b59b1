"""Runs migrations on the connection that `memory.kernel.postgres.migrate` opened, as the owner of the schema."""

from alembic import context
from sqlalchemy import Connection, text

from memory.kernel.postgres.tables import metadata

OWNER = "memlift_owner"
TIMEOUTS = "SET LOCAL lock_timeout = '4s'; SET LOCAL statement_timeout = '10min'"


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=False,
        compare_server_default=False,
    )
    with context.begin_transaction():
        connection.execute(text(TIMEOUTS))
        connection.execute(text(f"SET LOCAL ROLE {OWNER}"))
        context.run_migrations()


run(context.config.attributes["connection"])
