"""Find the runs whose process was killed, where it is certain that it is gone."""

from __future__ import annotations

import os

from simstore.storage import copies, migrate, runs
from simstore.storage.engine import Database


def killed_runs(place: str | os.PathLike[str]) -> list[int]:
    """Return the numbers of the runs that have no recorded end and do not go on.

    A process that ingests has the store open until its run has ended, and SQLite keeps a lock as
    long. So where no process has the file open *after* the running runs were listed, none of
    these can go on; runs that begin later are not in the list, and those that had just ended are
    not in a second one. Nothing is known where another process has the store open, and on a
    database server.

    Args:
        place: The store, which must not be open in this process.

    Raises:
        SimstoreError: The store cannot be opened.
    """
    database = Database(place)
    if database.path is None:
        return []
    try:
        database.check_exists()
        migrate.check_revision(database)
        with database.read() as connection:
            listed = runs.running_runs(connection)
        database.close()
        if not listed or not copies.is_free(database.path):
            return []
        with database.read() as connection:
            still = runs.running_runs(connection)
    finally:
        database.close()
    return [run for run in listed if run in still]


def end_killed_runs(place: str | os.PathLike[str]) -> int:
    """Mark as interrupted the runs of processes that were killed; return how many there were.

    Nothing is changed of a file that cannot be written.

    Args:
        place: The store, which must not be open in this process.

    Raises:
        SimstoreError: The store cannot be opened.
    """
    killed = killed_runs(place)
    database = Database(place)
    if not killed or not database.can_write:
        return 0
    try:
        with database.write() as connection:
            return runs.interrupt_runs(connection, killed)
    finally:
        database.close()
