"""The ``Store`` class: the public API that the command line, the server and users share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from simstore.errors import InvalidParameter, StoreExists, StoreNotFound
from simstore.fingerprint.channels import Channels
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.schemes import ExternalScheme
from simstore.model.channels import DEFAULT_CHANNELS
from simstore.services.open_store.open_store import OpenStore
from simstore.storage import migrate
from simstore.storage.engine import Database, Synchronous
from simstore.store.changes import Changes
from simstore.store.documents import Documents
from simstore.store.opened import NamespaceAttribute, Opened, TemporaryPlace
from simstore.store.queries import Queries

# How SQLite and SQLAlchemy write a database in memory.
MEMORY = (":memory:", "sqlite://", "sqlite:///:memory:")

if TYPE_CHECKING:
    from simstore.model import OnDuplicate, Policy, UpgradeSummary
    from simstore.services.maintenance.scheme_choice import SchemeChoice
    from simstore.sources.spark_results import DedupedOutput
    from simstore.store.clusters import Clusters
    from simstore.store.filters import Filters
    from simstore.store.indexes import Evaluate, Fingerprints, Passages, Vocabulary
    from simstore.store.maintenance import Maintenance
    from simstore.store.records import Duplicates, Rejects, Runs, Tokens


class Store(Changes, Queries, Documents):
    """A near-duplicate store: one file that finds texts like a text.

    >>> from simstore import Store
    >>> with Store("library.db") as store:
    ...     store.add("ferry", "The ferry to the island leaves at nine.")
    ...     found = store.query("the ferry to the island leaves at nine")
    ...     [match.key for match in found]
    'added'
    ['ferry']

    ``Store(path)`` opens the store at a path, and makes one where there is
    none; :meth:`Store.open` opens only what is there, :meth:`Store.create`
    makes a new one with options. ``Store(":memory:")`` is a store of the
    moment: nothing is left of it when it is closed. Close a store with
    :meth:`close` or a ``with`` statement.

    Threads may share a store: queries run side by side, each in a snapshot of
    its own, and writers take turns. A store may not be used in a child process
    after a fork (ForkedStore); open it there again. Several processes may have
    the same file open.

    Its verbs: ``add``, ``add_many``, ``ingest``, ``query``, ``query_many``,
    ``check``, ``check_many``, ``compare``, ``get``, ``list``, ``remove``,
    ``expire``, ``seen``, ``export``, ``stats``, ``report``, ``close``.
    ``store[key]``, ``len(store)``, ``key in store`` and
    ``for document in store`` work as of a collection. The rest is in
    namespaces, such as ``store.clusters``, ``store.duplicates`` and
    ``store.maintenance``; ``help(Store.clusters)`` tells of one.
    """

    clusters: NamespaceAttribute[Clusters] = NamespaceAttribute("clusters", "Clusters")
    duplicates: NamespaceAttribute[Duplicates] = NamespaceAttribute("records", "Duplicates")
    evaluate: NamespaceAttribute[Evaluate] = NamespaceAttribute("indexes", "Evaluate")
    filters: NamespaceAttribute[Filters] = NamespaceAttribute("filters", "Filters")
    fingerprints: NamespaceAttribute[Fingerprints] = NamespaceAttribute("indexes", "Fingerprints")
    maintenance: NamespaceAttribute[Maintenance] = NamespaceAttribute("maintenance", "Maintenance")
    passages: NamespaceAttribute[Passages] = NamespaceAttribute("indexes", "Passages")
    rejects: NamespaceAttribute[Rejects] = NamespaceAttribute("records", "Rejects")
    runs: NamespaceAttribute[Runs] = NamespaceAttribute("records", "Runs")
    tokens: NamespaceAttribute[Tokens] = NamespaceAttribute("records", "Tokens")
    vocabulary: NamespaceAttribute[Vocabulary] = NamespaceAttribute("indexes", "Vocabulary")

    def __init__(
        self,
        place: str | os.PathLike[str] = "simstore.db",
        *,
        read_only: bool = False,
        synchronous: Synchronous = "full",
        resident: bool = False,
    ) -> None:
        """Open a store, or make one of the scheme ``web`` where there is none.

        >>> with Store(":memory:") as store:
        ...     len(store)
        0

        Args:
            place: Path of the file, or an SQLAlchemy URL; ``:memory:``: a store
                of the moment.
            read_only: Refuse to write; a store must be there.
            synchronous: As for :meth:`open`.
            resident: As for :meth:`open`.
        """
        opening = _Opening(read_only=read_only, synchronous=synchronous, resident=resident)
        self._hold(place, opening, create=not read_only)

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
        """Open a store that is there.

        >>> Store.create("pages.db").close()
        >>> with Store.open("pages.db", read_only=True) as pages:
        ...     len(pages)
        0

        Args:
            place: Path of the file, or an SQLAlchemy URL.
            create: Make a store of the scheme ``web`` where there is none, as
                ``Store(path)``.
            read_only: Refuse to write.
            synchronous: ``full``: a commit survives a loss of power;
                ``normal``: it may not.
            resident: Keep all fingerprints in memory, sorted by each segment
                (about 33 bytes each at 64 bits, 65 at 128), for queries,
                readers and checks before an insert; after
                ``maintenance.warm()`` also what packed sketches are looked up
                by (some 250 bytes a document, 2 GB at most). What others write
                is read as it comes, and no answer is stale. For those who read
                beside it, the log of a file is kept short.

        Raises:
            StoreNotFound: There is none.
            NotAStore: Something else is there.
            SchemaOutOfDate: An older simstore made it;
                :func:`simstore.upgrade_store` helps.
            SchemaTooNew: A newer simstore made it.
        """
        store = cls.__new__(cls)
        opening = _Opening(read_only=read_only, synchronous=synchronous, resident=resident)
        store._hold(place, opening, create=create and not read_only)
        return store

    def _hold(self, place: str | os.PathLike[str], opening: _Opening, *, create: bool) -> None:
        """Open the store at a place and hold it."""
        temporary = _temporary_place(place)
        if temporary is not None:
            if opening.read_only:
                raise InvalidParameter("a store in memory begins empty: read_only leaves no use")
            place = temporary.path
            _create_web(place)
        database = Database(
            place,
            read_only=opening.read_only,
            synchronous=opening.synchronous,
            short_log=opening.resident,
        )
        try:
            try:
                database.check_exists()
            except StoreNotFound:
                if not create:
                    raise
                _create_web(place)
            migrate.check_revision(database)
        except BaseException:
            database.close()
            raise
        Opened.__init__(self, OpenStore(database, resident=opening.resident))
        self._temporary = temporary

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

        >>> with Store.create("wide.db", bits=128, on_duplicate="skip") as wide:
        ...     wide.stats().bits
        128

        Args:
            place: Path of the file, or an SQLAlchemy URL; ``:memory:``: a store
                of the moment.
            scheme: ``web``, ``simtool``, or a choice with options; None:
                ``web``.
            channels: Some of ``simhash``, ``minhash``, ``characters``: by which
                the store finds documents; None: the first two.
            policy: ``live``: each ingest and removal refreshes a
                corpus-dependent scheme at its end; ``frozen``: only
                :meth:`~Vocabulary.refresh` does.
            text: Keep the texts.
            vocabulary: Count the features of all documents.
            synchronous: As for :meth:`open`.
            exist_ok: Open the store where another process has made it
                meanwhile.
            fingerprints_only: Hold fingerprints that were made elsewhere, and
                no documents; see ``store.fingerprints``. Takes no scheme.
            bits: Fingerprint length M, 1 to 128; None: as the scheme says, 64.
            on_duplicate: What becomes of a document that duplicates a stored
                one, where an ingest says nothing; see :meth:`add_many`.
            min_resemblance: As for :meth:`add_many`, where an ingest says
                nothing.
            radius: As for :meth:`add_many`, where an ingest says nothing.
            keep_columns: Packed fingerprints keep their indexed segment
                columns, for who asks by SQL: some 110 bytes each besides.

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
            chosen = scheme if isinstance(scheme, SchemeChoice) else SchemeChoice(scheme or "web")
            if bits is not None:
                if chosen.bits not in (None, bits):
                    raise InvalidParameter(f"bits {bits}: the scheme has {chosen.bits}; give one")
                chosen = replace(chosen, bits=bits)
            made = make_scheme(chosen)
            names = channels
        temporary = _temporary_place(place)
        database = Database(place if temporary is None else temporary.path, synchronous=synchronous)
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
        store = cls.open(place if temporary is None else temporary.path, synchronous=synchronous)
        store._temporary = temporary
        return store

    def close(self) -> None:
        """Close the store; what it is asked afterwards raises ClosedStore.

        >>> pages = Store("pages.db")
        >>> pages.close()
        """
        self._opened.database.end()
        if self._temporary is not None:
            self._temporary.remove()

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
        place = MEMORY[0] if self._temporary is not None else self._opened.database.label
        return f"Store({place!r})"


def _temporary_place(place: object) -> TemporaryPlace | None:
    """Return where a store of the moment lies; None for any other place."""
    return TemporaryPlace() if place in MEMORY else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """Options of opening a store; see :meth:`Store.open`."""

    read_only: bool
    synchronous: Synchronous
    resident: bool


def _create_web(place: str | os.PathLike[str]) -> None:
    """Make a store of the scheme ``web``, unless another process has made one meanwhile."""
    from simstore.services.ingest.duplicate_checker import DuplicateRule
    from simstore.services.maintenance.maintain import create_store
    from simstore.services.maintenance.scheme_choice import SchemeChoice, make_scheme

    scheme = make_scheme(SchemeChoice("web"))
    database = Database(place)
    try:
        create_store(
            database,
            scheme,
            check=DuplicateRule("keep", None, None),
        )
    except StoreExists:
        pass
    finally:
        database.close()


def upgrade_store(place: str | os.PathLike[str]) -> UpgradeSummary:
    """Bring an older store to the present schema, after a backup.

    >>> Store.create("pages.db").close()
    >>> upgrade_store("pages.db").backup is None
    True

    Args:
        place: Path or SQLAlchemy URL of the store.

    Raises:
        StoreNotFound: There is none.
        CorruptStore: Its tables are not those of its revision.
    """
    from simstore.services.maintenance import maintain

    database = Database(place)
    try:
        before, after, backup = maintain.upgrade(database)
        from simstore.model import UpgradeSummary

        return UpgradeSummary(revision_before=before, revision_after=after, backup=backup)
    finally:
        database.close()


def restore_store(
    backup: str | os.PathLike[str],
    place: str | os.PathLike[str],
    *,
    replace: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Put a backup in the place of a store; return its bytes.

    It is copied and checked before it gets the store's name: whatever
    happens, the older store is there, or the restored one.

    >>> with Store("pages.db") as store:
    ...     size = store.maintenance.backup("monday.db")
    >>> restore_store("monday.db", "pages.db", replace=True) == size
    True

    Args:
        backup: The backup; it stays.
        place: Path of the store.
        replace: Put it in the place of a store that is there.
        on_progress: Called with pages copied and in all.

    Raises:
        OutputExists: There is a store and ``replace`` is not set.
        Conflict: The store is open, in whichever process.
        CorruptStore: The backup does not hold together.
    """
    from simstore.services.maintenance import maintain

    with closing(Database(backup)) as source, closing(Database(place)) as target:
        return maintain.restore(source, target, replace=replace, on_progress=on_progress)


def create_for_output(place: str | os.PathLike[str], output: DedupedOutput) -> Store:
    """Make a store with the scheme and channels of an output of ``simstore spark dedup``."""
    from simstore.services.maintenance.maintain import create_store

    database = Database(place)
    try:
        create_store(database, output.scheme, channels=output.channels)
    finally:
        database.close()
    return Store.open(place)
