"""Schema migrations: read a store's revision, create the schema, upgrade an old store.

The revision is read with plain SQL: importing Alembic takes longer than most commands.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from simstore.errors import (
    Conflict,
    CorruptStore,
    DiskFull,
    NotAStore,
    OutputExists,
    SchemaOutOfDate,
    SchemaTooNew,
    StoreExists,
)
from simstore.storage import tables
from simstore.storage.connection import Connection
from simstore.storage.engine import APPLICATION_ID, Database
from simstore.storage.rows import dialect_of, fetch

HISTORY = ("0001",)
HEAD = HISTORY[-1]

# Compressed texts of some 2 kB fill pages of 8 kB well; pages of 4 kB take a quarter more space,
# pages of 16 kB write twice as much for a single document.
PAGE_BYTES = 8192


def script_location() -> Path:
    """Return the folder of the migration scripts: inside the wheel, or beside the package."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise FileNotFoundError(f"no migration scripts in {package} or beside it")


def revision(connection: Connection) -> str | None:
    """Return the revision of the schema; None where there is no store."""
    if not dialect_of(connection).has_table(connection, "alembic_version"):
        return None
    rows = fetch(connection, "SELECT version_num FROM alembic_version")
    return str(rows[0][0]) if rows and rows[0][0] is not None else None


def known_revision(connection: Connection, label: str) -> str:
    """Return the revision of a store, this one or an older.

    Raises:
        NotAStore: There is no store.
        SchemaTooNew: The revision is not known here.
    """
    found = revision(connection)
    if found is None:
        raise NotAStore(label, "it holds no store")
    if found not in HISTORY:
        raise SchemaTooNew(label, found)
    return found


def check_revision(database: Database) -> None:
    """Raise unless the store has the revision that this simstore speaks."""
    with database.read() as connection:
        found = known_revision(connection, database.label)
    if found != HEAD:
        raise SchemaOutOfDate(database.label, found, HEAD)


def create_tables(connection: Connection) -> None:
    """Make all tables at the latest revision."""
    if connection.is_sqlite:
        for statement in sqlite_statements():
            connection.exec_driver_sql(statement)
    else:
        tables.metadata.create_all(connection.sqlalchemy)
    # The record of their revision makes the tables a store.
    connection.exec_driver_sql(
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
        "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{HEAD}')")  # noqa: S608 - a constant


def check_names_free(connection: Connection, label: str) -> None:
    """Raise Conflict if a database has tables or views of another program with our names."""
    import sqlalchemy

    inspected = sqlalchemy.inspect(connection.sqlalchemy)
    existing = {*inspected.get_table_names(), *inspected.get_view_names()}
    ours = {*tables.metadata.tables, *tables.RECORD_VIEWS, *tables.VIEW_NAMES}
    taken = sorted(existing & ours)
    if taken:
        raise Conflict(
            f"{label} has a table or view {taken[0]} that is no store's; name another database, or "
            "another schema by ?options=-csearch_path=NAME"
        )


@cache
def sqlite_statements() -> tuple[str, ...]:
    """Return the statements that make the tables, indexes and views of a file, in order.

    SQLAlchemy takes three times as long to write them as SQLite takes to run them, which is
    saved from the second store of a process on.
    """
    import sqlalchemy

    engine = sqlalchemy.create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            tables.metadata.create_all(connection)
            rows = connection.exec_driver_sql(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL "
                "AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"
            )
            return tuple(rows.scalars())
    finally:
        engine.dispose()


def settle_new_file(database: Database) -> None:
    """Bring all of a new store into its one file, and close it.

    Raises:
        DiskFull: There is no room for it.
    """
    with database.autocommit() as connection:
        busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    database.close()
    if busy is None or busy[0] or database.has_journal():
        raise DiskFull(database.label)


def publish(draft: Path, path: Path) -> None:
    """Give a new store its name, unless the name is taken.

    Args:
        draft: The finished file.
        path: Its name.

    Raises:
        StoreExists: There is a file at ``path``; the draft stays.
    """
    from simstore import outputs

    try:
        outputs.publish(draft, path, journals=True)
    except OutputExists:
        raise StoreExists(str(path)) from None


def prepare_new_file(database: Database) -> None:
    """Make an empty SQLite file ours: write-ahead log, application id."""
    if database.path is None:
        return
    from simstore import outputs

    outputs.make_private(database.path)
    with database.autocommit() as connection:
        connection.exec_driver_sql(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def check_tables(connection: Connection, label: str) -> None:
    """Raise CorruptStore if a table or column of the present schema is missing."""
    import sqlalchemy

    found = sqlalchemy.inspect(connection.sqlalchemy)
    present = set(found.get_table_names())
    missing = []
    for table in tables.metadata.sorted_tables:
        if table.name not in present:
            missing.append(table.name)
            continue
        columns = {column["name"] for column in found.get_columns(table.name)}
        missing += [str(column) for column in table.columns if column.name not in columns]
    if missing:
        raise CorruptStore(label, f"it lacks {', '.join(missing)} of the schema {HEAD}")


def upgrade(database: Database, target: str = "head") -> None:
    """Run the migrations up to ``target`` in one transaction.

    Raises:
        CorruptStore: The tables are not those of the revision; then nothing is changed.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(script_location()).replace("%", "%%"))
    with database.write() as connection:
        config.attributes["connection"] = connection.sqlalchemy
        command.upgrade(config, target)
        check_tables(connection, database.label)
