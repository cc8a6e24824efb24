"""A connection in a transaction: takes statements as text, and SQLAlchemy's.

Statements as text go to the driver. SQLAlchemy is imported, and its connection made, when the
first of its own statements comes: it takes longer to import than a query takes to answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import sqlalchemy
    from sqlalchemy import CursorResult, Executable
    from sqlalchemy.sql.selectable import TypedReturnsRows
    from typing_extensions import TypeVarTuple

    _Columns = TypeVarTuple("_Columns")

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Connection:
    """A connection of a store's database.

    Args:
        driver: The connection of the database's own driver.
        label: What messages call the store.
        adopt: Returns the connection of SQLAlchemy that works through the driver's.

    Attributes:
        driver: As given.
        label: As given.
    """

    __slots__ = ("_adopt", "_adopted", "driver", "is_sqlite", "label")

    def __init__(
        self, driver: Any, label: str, adopt: Callable[[Any], sqlalchemy.Connection]
    ) -> None:
        self.driver = driver
        self.label = label
        self.is_sqlite = isinstance(driver, sqlite3.Connection)
        self._adopt = adopt
        self._adopted: sqlalchemy.Connection | None = None

    @property
    def sqlalchemy(self) -> sqlalchemy.Connection:
        """SQLAlchemy's connection, in the same transaction."""
        if self._adopted is None:
            self._adopted = self._adopt(self.driver)
        return self._adopted

    @overload
    def execute(
        self,
        statement: TypedReturnsRows[*_Columns],
        parameters: Parameters | None = None,
    ) -> CursorResult[*_Columns]: ...

    @overload
    def execute(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> CursorResult[*tuple[Any, ...]]: ...

    def execute(self, statement: Executable, parameters: Parameters | None = None) -> Any:
        """Run a statement of SQLAlchemy."""
        return self.sqlalchemy.execute(statement, parameters)

    def exec_driver_sql(
        self, statement: str, parameters: Any = None
    ) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement as text, with the marks of the driver, by SQLAlchemy."""
        return self.sqlalchemy.exec_driver_sql(statement, parameters)

    def close(self) -> None:
        """Close the driver's connection."""
        if self._adopted is not None:
            self._adopted.close()
            self._adopted = None
        self.driver.close()
