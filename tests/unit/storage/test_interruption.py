"""What an interruption leaves of the connections of an SQLite file."""

from __future__ import annotations

from pathlib import Path

import pytest

from simstore import Store
from simstore.storage.engine import Database

pytestmark = pytest.mark.sqlite("it tells of its connections")


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_interruption_that_ends_a_statement_is_told_as_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.db"
    Store.create(path).close()
    database = Database(path)

    def interrupted() -> None:
        # What SQLAlchemy does where an interruption comes while a statement runs.
        with getattr(database, kind)() as connection:
            connection.sqlalchemy.invalidate(KeyboardInterrupt())
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM document").scalar() == 0
    database.close()
