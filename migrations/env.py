"""Alembic's environment: runs on the connection it is given, or on the store in SIMSTORE_DB."""

import os

from alembic import context

from simstore.storage.engine import Database
from simstore.storage.tables import metadata


def run(connection) -> None:  # type: ignore[no-untyped-def]
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        transaction_per_migration=False,
        # The caller's transaction holds all migrations: the old schema or the new, nothing between.
        transactional_ddl=False,
    )
    context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(os.environ.get("SIMSTORE_DB", "simstore.db"))
    with database.write() as own:
        run(own)
    database.close()
