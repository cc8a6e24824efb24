"""Copy a store into another database of any kind, in steps that survive a kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simstore.errors import (
    Conflict,
    CorruptStore,
    InvalidParameter,
    NotAStore,
    StorageError,
    StoreExists,
    StoreNotFound,
    printable,
)
from simstore.model import CopySummary, Progress
from simstore.outputs import (
    check_journals,
    check_store_file,
    delete_file,
    delete_journals,
    locked_folder,
)
from simstore.storage import checks, migrate, transfer
from simstore.storage.damage import corrupt
from simstore.storage.engine import Connection, Database, translated_files
from simstore.storage.transfer import Table


def copy_store(
    source: Database,
    target: Database,
    *,
    restart: bool = False,
    on_progress: Progress | None = None,
) -> CopySummary:
    """Copy one consistent state of a store while others read and write it; verify the copy.

    Each chunk of rows is a transaction. Where the process ends before the last, the same call goes
    on after the last chunk, if the source has not changed; the copy is no store until all of it is
    there and has the digests of the source.

    Args:
        source: The store.
        target: A place without a store.
        restart: Begin again, whatever a copy that was not finished holds.
        on_progress: Called with rows copied and in all.

    Raises:
        StoreExists: There is a store at the target.
        Conflict: A copy of another store, or of another state, was begun there.
        CorruptStore: The store is damaged, or what was written is not what was read.
    """
    if source.label == target.label:
        raise InvalidParameter(f"{source.label} is the store itself; name another place")
    source.check_exists()
    migrate.check_revision(source)
    with (
        source.read() as connection,
        _place(target, source.path, connection, restart=restart) as place,
    ):
        if target.path is None or not _is_finished(place):
            _fill(connection, place, target.label, restart=restart, on_progress=on_progress)
        total = sum(transfer.count(connection, table) for table in transfer.tables())
        documents = transfer.count(connection, _table("document"))
    return CopySummary(documents, total, len(transfer.tables()))


def _check_sound(source: Connection) -> None:
    """Raise CorruptStore where a store is damaged by what its database or its state tells."""
    for problem in checks.file_problems(source):
        raise corrupt(source, f"it is damaged, and is not copied ({problem})")
    transfer.state(source)


def _fill(
    source: Connection,
    place: Database,
    label: str,
    *,
    restart: bool,
    on_progress: Progress | None,
) -> None:
    """Copy all rows that are not there, compare them, and make a store of them."""
    _begin(place, transfer.state(source), label, restart=restart)
    total = sum(transfer.count(source, table) for table in transfer.tables())
    done = 0
    for table in transfer.tables():
        done = _copy(source, place, table, done, total, on_progress)
    with place.write() as written:
        for table in transfer.tables():
            transfer.write_own_references(source, written, table)
    _verify(source, place, label)
    with place.write() as written:
        transfer.finish(source, written)
        migrate.put_revision(written)


@contextmanager
def _place(
    target: Database, original: Path | None, source: Connection, *, restart: bool
) -> Iterator[Database]:
    """Yield where the copy is made: a file gets its name when it is complete."""
    if target.path is None:
        _check_sound(source)
        yield target
        return
    if os.path.lexists(target.path):
        raise StoreExists(target.label)
    if not os.path.isdir(target.path.absolute().parent):
        raise StorageError(f"{target.label}: its folder does not exist; make it first")
    # Before there is a draft, which would stay.
    _check_sound(source)
    check_journals(target.path)
    draft_path = draft_of(target.path)
    draft = Database(draft_path, synchronous="normal")
    draft.label = target.label
    with translated_files(str(target.path)):
        try:
            with locked_folder(draft_path):
                if os.path.islink(draft_path) or os.path.isdir(draft_path):
                    raise Conflict(
                        f"{printable(str(draft_path))} is not simstore's, and is left as it is; "
                        "move it away, or name another place"
                    )
                check_store_file(draft_path, replace=True)
                if restart or not _goes_on(draft, source):
                    draft.close()
                    delete_file(draft_path)
                    migrate.prepare_new_file(draft)
            yield draft
            migrate.settle_new_file(draft)
            # All of it is in the file; what SQLite could not delete would stay for ever.
            delete_journals(draft_path)
            migrate.publish(draft_path, target.path, original)
        finally:
            draft.close()


def _goes_on(draft: Database, source: Connection) -> bool:
    """Return whether a draft can be gone on with.

    One whose process ended while it was made an SQLite file of ours cannot; nor can a finished
    one of another state, which does not say any more of what it is a copy.
    """
    try:
        draft.check_exists()
    except (StoreNotFound, NotAStore, CorruptStore):
        return False
    with draft.read() as connection:
        if migrate.revision(connection) is None:
            return True
        if transfer.state(connection) != transfer.state(source):
            return False
        return all(
            transfer.digest(connection, table) == transfer.digest(source, table)
            for table in transfer.tables()
        )


def _is_finished(place: Database) -> bool:
    """Return whether a file that has not got its name yet is a whole copy."""
    with place.read() as connection:
        return migrate.revision(connection) is not None


def draft_of(path: Path) -> Path:
    """Return the path of the draft that is renamed to a file when the copy is complete."""
    return path.with_name(f".{path.name}.copy")


def _begin(place: Database, of_state: str, label: str, *, restart: bool) -> None:
    with place.write() as connection:
        if migrate.revision(connection) is not None:
            raise StoreExists(label)
        begun = transfer.under_way(connection)
        if begun is not None and restart:
            transfer.give_up(connection)
            begun = None
        if begun == of_state:
            return
        if begun is not None:
            raise Conflict(
                f"{label}: a copy of another store was begun here, or the store has changed since; "
                "`simstore copy --restart` begins again"
            )
        transfer.check_names_free(connection, label)
        transfer.begin(connection, of_state)


def _copy(
    source: Connection,
    place: Database,
    table: Table,
    done: int,
    total: int,
    on_progress: Progress | None,
) -> int:
    """Copy the rows of a table that are not there; return how many rows are done."""
    with place.read() as connection:
        done += transfer.count(connection, table)
    limit = transfer.chunk_rows(table)
    while True:
        with place.write() as connection:
            after = transfer.last_key(connection, table)
            rows = transfer.read(source, table, after, limit)
            if rows:
                transfer.write(connection, table, rows)
        done += len(rows)
        if rows and on_progress is not None:
            on_progress(done, total)
        if len(rows) < limit:
            return done


def _verify(source: Connection, place: Database, label: str) -> None:
    """Raise CorruptStore where a table has other rows than the source's."""
    with place.read() as connection:
        for table in transfer.tables():
            expected, found = (transfer.digest(one, table) for one in (source, connection))
            if found != expected:
                raise CorruptStore(
                    label,
                    f"its table {table.name} has {found[0]} rows, digest {found[1].hex()}; the "
                    f"store's has {expected[0]}, {expected[1].hex()}: `simstore copy --restart` "
                    "begins again",
                )


def _table(name: str) -> Table:
    return next(table for table in transfer.tables() if table.name == name)
