"""The store: the one object that the command line, the server and users hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from simstore.errors import InvalidParameter, StoreExists, StoreNotFound
from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.schemes import ExternalScheme
from simstore.model import CopySummary, OnDuplicate, Policy
from simstore.model.channels import DEFAULT_CHANNELS
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import migrate
from simstore.storage.engine import Database, Synchronous
from simstore.store.changes import Changes
from simstore.store.clusters import Clusters
from simstore.store.documents import Documents
from simstore.store.duplicates import Duplicates
from simstore.store.evaluate import Evaluate
from simstore.store.filters import Filters
from simstore.store.fingerprints import Fingerprints
from simstore.store.maintenance import Maintenance
from simstore.store.passages import Passages
from simstore.store.queries import Queries
from simstore.store.rejects import Rejects
from simstore.store.runs import Runs
from simstore.store.tokens import Tokens
from simstore.store.vocabulary import Vocabulary

if TYPE_CHECKING:
    from simstore.services.maintenance.scheme_choice import SchemeChoice
    from simstore.sources.spark_results import DedupedOutput


class Store(Changes, Queries, Documents):
    """A near-duplicate store.

    >>> from simstore import Store
    >>> with Store.open("library.db", create=True) as store:
    ...     store.add("ferry", "The ferry to the island leaves at nine every morning.")
    ...     [match.key for match in store.query("the ferry to the island leaves at nine")]
    'added'
    ['ferry']

    Open one with :meth:`open`; close it with :meth:`close` or a ``with`` statement. Threads may
    share a store: queries run side by side, each in a snapshot of its own, and writers take
    turns. A store may not be used in a child process after a fork (ForkedStore); open it there
    again. Several processes may have the same file open.

    What is done now and then is in namespaces: ``store.clusters``, ``store.maintenance`` and the
    others.
    """

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str] = "simstore.db",
        *,
        create: bool = False,
        read_only: bool = False,
        synchronous: Synchronous = "full",
        resident: bool = False,
    ) -> Self:
        """Open a store.

        >>> with Store.open("pages.db", create=True) as pages:
        ...     len(pages)
        0

        Args:
            place: Path of the file, or an SQLAlchemy URL.
            create: Make a store of the scheme ``web`` where there is none.
            read_only: Refuse to write.
            synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
            resident: Keep all fingerprints in memory, sorted by each segment (about 33 bytes each
                at 64 bits, 65 at 128), for queries, readers and checks before an insert; after
                ``maintenance.warm()`` also what packed sketches are looked up by (some 250 bytes a
                document, 2 GB at most). What others write is read as it comes, and no answer is
                stale. For those who read beside it, the log of a file is kept short.

        Raises:
            StoreNotFound: There is none.
            NotAStore: Something else is there.
            SchemaOutOfDate: An older simstore made it; ``simstore upgrade`` helps.
            SchemaTooNew: A newer simstore made it.
        """
        database = Database(place, read_only=read_only, synchronous=synchronous, short_log=resident)
        try:
            try:
                database.check_exists()
            except StoreNotFound:
                if not create or read_only:
                    raise
                cls.create(place, synchronous=synchronous, exist_ok=True).close()
            migrate.check_revision(database)
        except BaseException:
            database.close()
            raise
        return cls(OpenStore(database, resident=resident))

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str] = "simstore.db",
        *,
        scheme: SchemeChoice | str | None = None,
        channels: Sequence[str] = DEFAULT_CHANNELS,
        policy: Policy = "live",
        text: bool = True,
        vocabulary: bool = True,
        synchronous: Synchronous = "full",
        exist_ok: bool = False,
        fingerprints_only: bool = False,
        bits: int | None = None,
        on_duplicate: OnDuplicate = "keep",
        min_resemblance: float | None = None,
        radius: int | None = None,
        keep_columns: bool = False,
    ) -> Self:
        """Make a new store and open it.

        >>> from simstore import SchemeChoice
        >>> with Store.create("wide.db", scheme=SchemeChoice("web", bits=128)) as wide:
        ...     wide.stats().bits
        128

        Args:
            place: Path of the file, or an SQLAlchemy URL.
            scheme: ``web``, ``simtool``, or a choice with options; None: ``web``.
            channels: ``simhash``, ``minhash`` or both: by which the store finds documents.
            policy: ``live``: each ingest and removal refreshes a corpus-dependent scheme at its
                end; ``frozen``: only :meth:`~Vocabulary.refresh` does.
            text: Keep the texts.
            vocabulary: Count the features of all documents.
            synchronous: As for :meth:`open`.
            exist_ok: Open the store where another process has made it meanwhile.
            fingerprints_only: Hold fingerprints that were made elsewhere, and no documents; see
                ``store.fingerprints``. Takes no scheme.
            bits: Fingerprint length M of such a store, 1 to 128; None: 64.
            on_duplicate: What becomes of a document that duplicates a stored one, where an ingest
                says nothing; see :meth:`add_many`.
            min_resemblance: As for :meth:`add_many`, where an ingest says nothing.
            radius: As for :meth:`add_many`, where an ingest says nothing.
            keep_columns: Packed fingerprints keep their indexed segment columns, for who asks by
                SQL: some 110 bytes each besides.

        Raises:
            StoreExists: There is something at this place.
            InvalidParameter: The options do not go together.
        """
        from simstore.services.ingest.duplicate_checker import DuplicateRule
        from simstore.services.maintenance.maintain import create_store
        from simstore.services.maintenance.scheme_choice import SchemeChoice, make_scheme

        if fingerprints_only:
            if scheme is not None:
                raise InvalidParameter("a store of fingerprints alone has no scheme; leave it out")
            made: Scheme = ExternalScheme(64 if bits is None else bits)
            names: Sequence[str] = ("simhash",)
            text = vocabulary = False
        else:
            if bits is not None:
                raise InvalidParameter("bits belong to the scheme: SchemeChoice(..., bits=...)")
            chosen = (
                SchemeChoice(scheme or "web") if not isinstance(scheme, SchemeChoice) else scheme
            )
            made = make_scheme(chosen)
            names = channels
        database = Database(place, synchronous=synchronous)
        try:
            create_store(
                database,
                made,
                channels=Channels.of(names, made.normalization),
                policy=policy,
                text_kept=text,
                vocabulary_recorded=vocabulary,
                check=DuplicateRule(on_duplicate, min_resemblance, radius),
                keep_columns=keep_columns,
            )
        except StoreExists:
            if not exist_ok:
                raise
        finally:
            database.close()
        return cls.open(place, synchronous=synchronous)

    @cached_property
    def clusters(self) -> Clusters:
        """Clusters of near-duplicates."""
        return Clusters(self._opened)

    @cached_property
    def duplicates(self) -> Duplicates:
        """Duplicates that ingests found."""
        return Duplicates(self._opened)

    @cached_property
    def passages(self) -> Passages:
        """The passage index, by which papers are checked."""
        return Passages(self._opened)

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """Fingerprints by their values."""
        return Fingerprints(self._opened)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The features of all documents."""
        return Vocabulary(self._opened)

    @cached_property
    def runs(self) -> Runs:
        """Recorded runs of ingests and queries."""
        return Runs(self._opened)

    @cached_property
    def rejects(self) -> Rejects:
        """Records that could not be stored."""
        return Rejects(self._opened)

    @cached_property
    def tokens(self) -> Tokens:
        """Tokens of those who use a server of the store."""
        return Tokens(self._opened)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Upkeep of the store and its file."""
        return Maintenance(self._opened)

    @cached_property
    def evaluate(self) -> Evaluate:
        """How well the store finds near-duplicates."""
        return Evaluate(self._opened)

    @cached_property
    def filters(self) -> Filters:
        """Filters of known keys and texts."""
        return Filters(self._opened)

    def close(self) -> None:
        """Close all connections.

        >>> pages = Store.open("pages.db", create=True)
        >>> pages.close()
        """
        self._opened.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self._opened.database.label!r})"


def upgrade_store(place: str | os.PathLike[str]) -> tuple[str, str, Path | None]:
    """Bring an older store to the present schema, after a backup.

    Returns:
        The revision before and after, and the backup; None where nothing was to be done.
    """
    from simstore.services.maintenance import maintain

    database = Database(place)
    try:
        return maintain.upgrade(database)
    finally:
        database.close()


def copy_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    restart: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> CopySummary:
    """Copy a store to a place of whatever kind: an SQLite file or a PostgreSQL database.

    The copy is as the store is at one moment; counts and digests of all tables are compared on
    both sides. A copy that was ended goes on where it was, if the store has not changed.

    Args:
        source: Path or SQLAlchemy URL of the store.
        target: Path or SQLAlchemy URL of the copy; there is no store.
        restart: Begin again.
        on_progress: Called with rows copied and in all.

    Raises:
        StoreNotFound: There is no store at the source.
        StoreExists: There is one at the target.
        Conflict: A copy of another store, or of another state, was begun at the target.
        CorruptStore: What was written is not what was read.
    """
    from simstore.services.maintenance import copy

    one, other = Database(source, read_only=True), Database(target)
    try:
        return copy.copy_store(one, other, restart=restart, on_progress=on_progress)
    finally:
        one.close()
        other.close()


def create_for_output(place: str | os.PathLike[str], output: DedupedOutput) -> Store:
    """Make a store for the output of ``simstore spark dedup``: of its scheme and channels."""
    from simstore.services.maintenance.maintain import create_store

    database = Database(place)
    try:
        create_store(database, output.scheme, channels=output.channels)
    finally:
        database.close()
    return Store.open(place)
