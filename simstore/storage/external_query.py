"""Run a read-only query on another database and stream its rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from simstore.errors import (
    InvalidParameter,
    MissingExtra,
    SourceNotFound,
    UnreadableSource,
    printable,
)

_ROWS = 1_000
_POSTGRESQL = "postgresql"


class ForeignQuery:
    """A query to a database that is no simstore store.

    Nothing can be written: SQLite is opened read-only, PostgreSQL reads in a read-only
    transaction; other databases are trusted to do what the query says.

    Args:
        place: A database URL, or the path of an SQLite file.
        statement: One statement that returns rows.

    Raises:
        InvalidParameter: The place is no URL, or nothing here speaks to such a database.
        MissingExtra: The driver of PostgreSQL is not installed.
        SourceNotFound: There is no such SQLite file.
    """

    def __init__(self, place: str, statement: str) -> None:
        self._statement = statement
        if "://" not in place:
            self._url = URL.create("sqlite", database=place)
        else:
            try:
                self._url = make_url(place)
            except (ArgumentError, ValueError) as error:
                raise InvalidParameter(f"--from: no database URL ({error})") from None
        self.label = self._url.render_as_string(hide_password=True)
        try:
            self._engine = create_engine(_read_only(self._url))
        except ModuleNotFoundError as error:
            if self._url.get_backend_name() == _POSTGRESQL:
                raise MissingExtra(f"reading {self.label}", "postgres") from None
            raise InvalidParameter(
                f"--from {self.label}: its driver {error.name} is not installed"
            ) from None
        except (NoSuchModuleError, ArgumentError) as error:
            raise InvalidParameter(f"--from {self.label}: {_one_line(error)}") from None

    def names(self) -> list[str]:
        """Return the names of the columns.

        Raises:
            UnreadableSource: The database cannot be reached, or refuses the query.
            InvalidParameter: The statement returns no rows.
        """
        with self._opened() as connection:
            result = connection.exec_driver_sql(self._statement)
            if not result.returns_rows:
                raise InvalidParameter("--sql: the statement returns no rows; write a SELECT")
            return list(result.keys())

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; few are held at a time.

        Raises:
            UnreadableSource: The database cannot be reached, or refuses the query.
        """
        with self._opened() as connection:
            result = connection.exec_driver_sql(self._statement)
            while rows := result.fetchmany(_ROWS):
                for row in rows:
                    yield tuple(row)

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        options: dict[str, Any] = {"stream_results": True, "max_row_buffer": _ROWS}
        if self._url.get_backend_name() == _POSTGRESQL:
            options["postgresql_readonly"] = True
        try:
            with self._engine.connect() as connection:
                yield connection.execution_options(**options)
        except DBAPIError as error:
            raise UnreadableSource(self.label, _one_line(error.orig or error)) from None
        except SQLAlchemyError as error:
            raise UnreadableSource(self.label, _one_line(error)) from None
        finally:
            self._engine.dispose()


def _read_only(url: URL) -> URL:
    """Return the URL of a database; of an SQLite file, which must be there, for reading only."""
    if url.get_backend_name() != "sqlite":
        return url
    path = url.database or ""
    if not os.path.isfile(path):
        raise SourceNotFound(printable(path))
    return URL.create(
        "sqlite", database=Path(path).resolve().as_uri(), query={"mode": "ro", "uri": "true"}
    )


def _one_line(error: BaseException) -> str:
    return printable(" ".join(str(error).split())[:300])
