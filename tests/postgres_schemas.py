"""Schemas of a database for stores, some with the tables of a store made already.

To make the tables takes a server longer than most tests do. So a schema whose store is no longer
needed is emptied and used again, unless its tables are no longer what they were.
"""

from __future__ import annotations

import itertools
from typing import Any

from postgres_servers import PostgresServer

from simstore.storage.engine import Database
from simstore.storage.migrate import HEAD, create_tables

# What the tables, columns, indexes, constraints and triggers of a schema are, in one text.
_SHAPE = """
CREATE FUNCTION public.shape(schema text) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(line, ' ' ORDER BY line COLLATE "C")) FROM (
        SELECT concat(c.relname, c.relkind, c.relpersistence)
            || coalesce((SELECT string_agg(concat(attname, atttypid, attnotnull), ','
                                           ORDER BY attnum)
                         FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), '')
            || coalesce((SELECT indisvalid::text FROM pg_index WHERE indexrelid = c.oid), '')
            || coalesce(array_to_string(c.relacl, ','), '')
        FROM pg_class c WHERE c.relnamespace = schema::regnamespace
        UNION ALL
        SELECT concat(conname, convalidated) FROM pg_constraint
        WHERE connamespace = schema::regnamespace
        UNION ALL
        SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = schema::regnamespace AND NOT tgisinternal
        UNION ALL
        SELECT proname FROM pg_proc WHERE pronamespace = schema::regnamespace
    ) AS lines (line)
$$
"""
# Empty the tables that hold something, all but the revision; let all numbers begin again.
_EMPTY = """
CREATE FUNCTION public.empty(schema text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
    holds boolean;
    filled text[] := '{}';
BEGIN
    FOR name IN SELECT relname FROM pg_class
        WHERE relnamespace = schema::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.%I)', schema, name) INTO holds;
        IF holds THEN
            filled := filled || format('%I.%I', schema, name);
        END IF;
    END LOOP;
    IF filled <> '{}' THEN
        EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' CASCADE';
    END IF;
    PERFORM setval(oid::regclass, 1, false) FROM pg_class
    WHERE relnamespace = schema::regnamespace AND relkind = 'S';
END
$$
"""


class Schemas:
    """The schemas of one database.

    Args:
        server: A running server.
    """

    def __init__(self, server: PostgresServer) -> None:
        import psycopg

        self.server = server
        self.database = server.make_database()
        self._numbers = itertools.count()
        self._made: list[str] = []
        self._shape: str | None = None
        self._create_tables = create_tables
        self._connection = psycopg.connect(server.plain_url(self.database), autocommit=True)
        quietly = "SET lock_timeout = '2s'; SET client_min_messages = error"
        for statement in (_SHAPE, _EMPTY, quietly):
            self._connection.execute(statement)

    def close(self) -> None:
        self._connection.close()

    def make(self) -> str:
        """Make a schema with nothing in it; return its name."""
        name = f"s{next(self._numbers)}"
        self._connection.execute(f"CREATE SCHEMA {name}")
        return name

    def give_back(self, schema: str) -> None:
        """Take a schema that no test needs any longer."""
        import psycopg

        try:
            if self._is_as_made(schema):
                self._row("SELECT public.empty(%s)", schema)
                self._made.append(schema)
            else:
                self._connection.execute(f"DROP SCHEMA {schema} CASCADE")
        except psycopg.errors.LockNotAvailable:
            # A test that failed has left a transaction open.
            return

    def put_tables(self, connection: Any) -> bool:
        """Put tables that are made into the schema of a writer's transaction.

        Returns:
            False: there are none.
        """
        if not self._made:
            return False
        made = self._made.pop()
        (name,) = connection.exec_driver_sql("SELECT current_schema()").fetchone()
        connection.exec_driver_sql(f"DROP SCHEMA {name}")
        connection.exec_driver_sql(f"ALTER SCHEMA {made} RENAME TO {name}")
        return True

    def _is_as_made(self, schema: str) -> bool:
        if self._shape is None:
            self._shape = self._shape_as_made()
        (shape,) = self._row("SELECT public.shape(%s)", schema)
        if shape != self._shape:
            return False
        revision = self._row(f"SELECT version_num FROM {schema}.alembic_version")
        return bool(revision == (HEAD,))

    def _shape_as_made(self) -> str:
        schema = self.make()
        database = Database(self.server.url(self.database, schema=schema))
        with database.write() as connection:
            self._create_tables(connection)
        database.close()
        (shape,) = self._row("SELECT public.shape(%s)", schema)
        return str(shape)

    def _row(self, statement: str, *parameters: Any) -> Any:
        return self._connection.execute(statement, parameters).fetchone()
