"""Create, back up, compact and upgrade a store."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from simstore import outputs
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
from simstore.fingerprint.channels import Channels
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.scheme import Scheme
from simstore.model import Policy, Progress
from simstore.search.plan import check_radius
from simstore.services.channels import pack_fingerprints
from simstore.services.channels.store_part import pack_bands
from simstore.services.check import passage_index
from simstore.services.generations.refresh import drop_retired, freeze
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.open_store.open_store import OpenStore, Snapshot, now
from simstore.services.open_store.state import missing_channel
from simstore.storage import (
    cluster_names,
    copies,
    deltas,
    generations,
    history,
    index_pages,
    migrate,
    passages,
    runs,
    vocabularies,
)
from simstore.storage.engine import Database, translated_files
from simstore.storage.fingerprints import packed_columns
from simstore.storage.generations import StoreSettings
from simstore.version import __version__

# Records of a document, other than the one it was taken from, that a compaction leaves: enough that
# the latest sources can be read again without an update.
MOST_SEEN_RECORDS = 8
# Earlier versions that it leaves of a document that no source dates. What is dated keeps them all:
# they tell when a page changed.
MOST_UNDATED_VERSIONS = 2
# Runs whose removed keys it leaves: `simstore runs show` lists them.
MOST_REMOVING_RUNS = 1_000


def create_store(
    database: Database,
    scheme: Scheme,
    *,
    channels: Channels | None = None,
    policy: Policy = "live",
    text_kept: bool = True,
    vocabulary_recorded: bool = True,
    check: DuplicateRule | None = None,
    keep_columns: bool = False,
) -> None:
    """Make a new store, all or nothing: a file gets its name when it is complete.

    Args:
        database: Where.
        scheme: The scheme.
        channels: None: the usual ones, with the scheme's normalization.
        policy: Whether each ingest refreshes a corpus-dependent scheme.
        text_kept: Keep the texts.
        vocabulary_recorded: Count the features of all documents.
        check: What an ingest does with duplicates that is not told; None: it keeps them.
        keep_columns: Packed fingerprints keep their segment columns.

    Raises:
        StoreExists: There is something at this place already.
        InvalidParameter: The scheme needs the vocabulary or the channel that was switched off.
    """
    if channels is None:
        channels = Channels.of(normalization=scheme.normalization)
    check_channels(scheme, channels)
    if scheme.depends_on_corpus and not vocabulary_recorded:
        raise InvalidParameter(
            f"scheme {scheme.label} depends on the vocabulary; leave out --no-vocabulary"
        )
    settings = StoreSettings(
        policy=policy,
        text_kept=text_kept,
        vocabulary_recorded=vocabulary_recorded,
        changes=0,
        keep_columns=keep_columns,
    )
    if check is not None:
        if check.radius is not None:
            check_radius(check.radius, scheme.bits)
        settings = replace(
            settings,
            on_duplicate=check.on_duplicate,
            min_resemblance=check.min_resemblance,
            radius=check.radius,
        )
    if database.path is None:
        with database.read() as connection:
            if migrate.revision(connection) is not None:
                raise StoreExists(database.label)
            migrate.check_names_free(connection, database.label)
        _fill(database, scheme, channels, settings)
        return
    if os.path.lexists(database.path):
        raise StoreExists(database.label)
    if not os.path.isdir(database.path.absolute().parent):
        raise StorageError(f"{database.label}: its folder does not exist; make it first")
    with translated_files(str(database.path)):
        draft_path = outputs.draft_beside(database.path)
        draft = Database(draft_path)
        draft.label = database.label  # what a message names
        try:
            migrate.prepare_new_file(draft)
            _fill(draft, scheme, channels, settings)
            migrate.settle_new_file(draft)
            migrate.publish(draft_path, database.path)
        finally:
            draft.close()
            outputs.delete_file(draft_path)


def check_channels(scheme: Scheme, channels: Channels) -> None:
    """Raise InvalidParameter where a scheme cannot go without the channel that is switched off."""
    if scheme.depends_on_corpus and not channels.has_fingerprints:
        raise InvalidParameter(
            f"scheme {scheme.label} is one for fingerprints; give it the channel simhash"
        )


def _fill(database: Database, scheme: Scheme, channels: Channels, settings: StoreSettings) -> None:
    with database.write() as connection:
        migrate.create_tables(connection)
        generations.create_settings(connection, settings, now(), __version__)
        generations.add_scheme(connection, scheme.record(), channels.record(), "standing", now())
        if channels.has_fingerprints and not scheme.depends_on_corpus:
            row = freeze(OpenStore(database).snapshot(connection))
            generations.set_generation_status(connection, row.generation_id, "standing", now())


def backup(
    opened: OpenStore,
    target: Path,
    *,
    replace: bool = False,
    on_progress: Progress | None = None,
) -> int:
    """Copy the store while others use it, check the copy; return its size in bytes.

    Raises:
        NotAFile: There is a folder, a device, a pipe or a socket at ``target``.
        OutputExists: There is a file at ``target`` and ``replace`` is not set.
        Conflict: The file at ``target`` is a store that is open, or no store.
        CorruptStore: The copy does not hold together.
    """
    database = opened.database
    if outputs.is_same_file(target, _file_of(database)):
        raise InvalidParameter(f"{printable(str(target))} is the store itself; name another file")
    return _copy_to(database, target, replace=replace, on_progress=on_progress)


def open_copy(opened: OpenStore, on_progress: Progress | None = None) -> int:
    """Copy the store as :func:`backup` does; return a descriptor of the copy, which has no name.

    Raises:
        CorruptStore: The copy does not hold together.
    """
    draft = outputs.draft_beside(_file_of(opened.database))
    with translated_files(opened.database.label):
        try:
            _copy_checked(opened.database, draft, on_progress)
            return os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            outputs.delete_file(draft)


def _file_of(database: Database) -> Path:
    """Return the file of a store, for a copy of it.

    Raises:
        InvalidParameter: It is on a database server.
    """
    if database.path is None:
        raise InvalidParameter(
            f"{database.label}: `simstore backup` copies SQLite files; "
            "of a server's database make one with pg_dump"
        )
    return database.path


def restore(
    backup_database: Database,
    target: Database,
    *,
    replace: bool = False,
    on_progress: Progress | None = None,
) -> int:
    """Copy a backup to a store's place, check the copy; return its bytes.

    A kill leaves the older store, or the restored one.

    Raises:
        InvalidParameter: One of them is no file, or both are the same.
        StoreNotFound: There is no backup.
        NotAStore: The backup is something else.
        SchemaTooNew: A newer simstore made it.
        OutputExists: There is a file and ``replace`` is not set.
        Conflict: The store is open, or the file is no store.
        CorruptStore: The backup does not hold together.
    """
    for one in (backup_database, target):
        if one.given is None:
            raise InvalidParameter(
                f"{one.label}: `simstore restore` copies SQLite files; a server's database is "
                "restored with pg_restore, or `simstore ingest SOURCE` fills one from an export"
            )
    remedy = "name a file that `simstore backup` made"
    try:
        backup_database.check_exists()
        with backup_database.read() as connection:
            migrate.known_revision(connection, backup_database.label)
    except StoreNotFound:
        raise StoreNotFound(backup_database.label, remedy) from None
    except NotAStore as error:
        raise NotAStore(backup_database.label, error.reason, remedy) from None
    if outputs.is_same_file(target.place, backup_database.place):
        raise InvalidParameter(
            f"{backup_database.label} is the store itself; name its backup, and the store with --db"
        )
    place = Path(target.place) if target.given is None else target.given
    return _copy_to(backup_database, place, replace=replace, on_progress=on_progress)


def _copy_to(
    database: Database, target: Path, *, replace: bool, on_progress: Progress | None
) -> int:
    """Put a checked copy of an SQLite store at a place; return its bytes."""
    place = outputs.check_store_file(target, replace=replace)
    if not os.path.isdir(place.parent):
        raise StorageError(f"{printable(str(target))}: its folder does not exist; make it first")
    with translated_files(str(target)):
        if copies.is_in_use(place):
            # It would go on in a file without a name, and what is written there be lost.
            raise Conflict(
                f"{printable(str(target))} is open in another process; stop it first, "
                "or name a new file"
            )
        draft = outputs.draft_beside(place)
        try:
            _copy_checked(database, draft, on_progress)
            # Its log is deleted before the copy gets the name: until then the older one is whole.
            copies.settle(place)
            outputs.publish(draft, place, replace=replace, journals=True, source=database.path)
        finally:
            outputs.delete_file(draft)
    return place.stat().st_size


def _copy_checked(database: Database, draft: Path, on_progress: Progress | None) -> None:
    copies.copy(database, draft, on_progress)
    problem = copies.check(draft)
    if problem is not None:
        raise CorruptStore(database.label, f"its copy is not sound ({problem})")


def compact(
    opened: OpenStore,
    layout: BandLayout | None = None,
    *,
    plain: bool = False,
    columns: bool | None = None,
    drop_passages: bool = False,
    on_progress: Progress | None = None,
) -> tuple[int, int]:
    """Pack the store, forget old records, free space; return the file's bytes before and after.

    Terms that no document has any more are forgotten, where nothing names them by number; of the
    records that are older than a document's present version, and of the earlier versions of a
    document that no source dates, the latest are remembered; so are of the names of clusters that
    ended. The keys that a run removed are forgotten if it is not one of the latest.

    Args:
        opened: The store.
        layout: Bands by which sketches are packed from now on; None: as before.
        plain: Put fingerprints into plain rows instead of pages.
        columns: Packed fingerprints keep their segment columns, or no longer; None: as before.
        drop_passages: Delete the passage index.
        on_progress: Called with fingerprints moved and in all, then with bands.

    Raises:
        InvalidParameter: A layout is given and the store keeps no sketches.
        Conflict: A layout is given, and another process packs, or a reindex is under way.
    """
    database = opened.database
    before = database.file_bytes()
    with database.read() as connection:
        state = opened.state(connection)
    if layout is not None:
        if not state.channels.has_word_sketches:
            raise missing_channel(state, state.channels.words.name)
        # Refused here, before anything is packed.
        state.channels.with_layout(state.channels.words.name, layout)
    if drop_passages:
        with opened.write() as connection:
            passages.drop(connection)
    if columns is not None:
        with opened.write() as connection:
            (packed_columns.keep if columns else packed_columns.drop)(connection)
    if plain:
        pack_fingerprints.unpack(opened, on_progress)
    else:
        pack_fingerprints.pack(opened, on_progress, whole=True)
    if not pack_bands(opened, layout, on_progress) and layout is not None:
        raise Conflict("another process packs the sketches, or reindexes; try again when it has")
    drop_retired(opened)
    passage_index.compact(opened)
    with opened.write() as connection:
        _compact_vocabulary(opened.snapshot(connection))
        runs.drop_old_seen(connection, MOST_SEEN_RECORDS)
        runs.drop_old_removed(connection, MOST_REMOVING_RUNS)
        history.drop_old_undated(connection, MOST_UNDATED_VERSIONS)
        cluster_names.drop_old_ended(connection)
        index_pages.drop_strays(connection)
    database.vacuum()
    return before, database.file_bytes()


def _compact_vocabulary(snapshot: Snapshot) -> None:
    """Forget the terms that no document has any more.

    Where no term has a row yet, the changes that wait become one, without such terms: a row a term
    would take several times their space.
    """
    connection, scheme_id = snapshot.connection, snapshot.scheme_id
    if not snapshot.keeps_counts and not vocabularies.largest_feature_id(connection, scheme_id):
        deltas.gather(connection, scheme_id)
        return
    deltas.merge(connection, scheme_id)
    if not snapshot.keeps_counts:
        vocabularies.drop_unused(connection, scheme_id)


def upgrade(database: Database) -> tuple[str, str, Path | None]:
    """Bring an older store to the present schema, after a backup.

    All migrations are one transaction: a kill leaves the old store or the new one.

    Returns:
        The revision before and after, and the backup; None where nothing was to be done.

    Raises:
        NotAStore: There is no store of ours.
        SchemaTooNew: A newer simstore made it.
        CorruptStore: Its tables are not those of its revision.
    """
    database.check_exists()
    with database.read() as connection:
        before = migrate.known_revision(connection, database.label)
        if before == migrate.HEAD:
            migrate.check_tables(connection, database.label)
    if before == migrate.HEAD:
        return before, before, None
    kept = None
    if database.given is not None:
        kept = database.given.with_name(f"{database.given.name}.{before}.backup")
        backup(OpenStore(database), kept, replace=True)
    migrate.upgrade(database)
    return before, migrate.HEAD, kept
