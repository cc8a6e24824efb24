"""The store: the one object that the command line, the server and users hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from simstore.errors import InvalidParameter, RunNotFound, StoreExists, StoreNotFound
from simstore.fingerprint.channels import CHANNELS, Channels, Sketching, parse_channels
from simstore.fingerprint.given import GivenScheme, no_recipe
from simstore.fingerprint.minhash import BandLayout
from simstore.fingerprint.scheme import Scheme
from simstore.model import (
    Clustering,
    ClusterMerge,
    ClusterPlace,
    Comparison,
    Document,
    Duplicate,
    ExpireSummary,
    Finding,
    IngestSummary,
    KeptCluster,
    KeptSummary,
    Match,
    OnDuplicate,
    Outcome,
    PassedOver,
    Policy,
    QueryOptions,
    QueryRun,
    RefreshSummary,
    Rejection,
    SampleResult,
    Seen,
    StoredDocument,
    StoredRejection,
    StoreStatistics,
    Story,
    VocabularyStatus,
    VocabularyTerm,
)
from simstore.services.accept import Addable, accept
from simstore.services.opened import OpenStore
from simstore.services.query import query_samples
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.storage import documents, generations, migrate, queries
from simstore.storage.engine import Database, Synchronous
from simstore.text.decoding import encode

if TYPE_CHECKING:
    from simstore.reports.known_filter import KnownFilter
    from simstore.reports.store_figures import StoreFigures
    from simstore.search.evaluation import Evaluation
    from simstore.services.choose import SchemeChoice
    from simstore.services.cluster import ClusterOptions
    from simstore.services.compared import CompareOptions
    from simstore.services.evaluate import EvaluateOptions, ExactPair
    from simstore.services.export import ExportOptions, ExportSummary
    from simstore.services.given import Values
    from simstore.services.ingest import IngestOptions, Observer
    from simstore.services.reader import Reader
    from simstore.services.refresh import Progress
    from simstore.services.truth import Labels

# What only some commands need is imported by them: a query starts the sooner.


class Store:
    """A near-duplicate store.

    Open one with :meth:`open`; close it with :meth:`close` or a ``with`` statement. Threads may
    share a store: queries run side by side, each in a snapshot of its own, and writers take
    turns. A store may not be used in a child process after a fork (ForkedStore); open it there
    again. Several processes may have the same file open.
    """

    def __init__(self, database: Database, *, resident: bool = False) -> None:
        """Use :meth:`open` or :meth:`create`."""
        self._opened = OpenStore(database, resident=resident)
        self._takes_documents: bool | None = None

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

        Args:
            place: Path of the file, or an SQLAlchemy URL.
            create: Make a store of the scheme ``web`` where there is none.
            read_only: Refuse to write.
            synchronous: ``full``: a commit survives a loss of power; ``normal``: it may not.
            resident: Keep all fingerprints in memory, sorted by each segment (about 33 bytes each
                at 64 bits, 65 at 128), for queries and readers; read anew when they have changed.

        Raises:
            StoreNotFound: There is none.
            NotAStore: Something else is there.
            SchemaOutOfDate: An older simstore made it; ``simstore upgrade`` helps.
            SchemaTooNew: A newer simstore made it.
        """
        database = Database(place, read_only=read_only, synchronous=synchronous)
        try:
            database.check_exists()
        except StoreNotFound:
            if not create or read_only:
                raise
            cls.create(place, synchronous=synchronous, exist_ok=True).close()
        try:
            migrate.check_revision(database)
        except BaseException:
            database.close()
            raise
        return cls(database, resident=resident)

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str] = "simstore.db",
        *,
        scheme: SchemeChoice | str | None = None,
        channels: Sequence[str] = CHANNELS,
        policy: Policy = "live",
        text: bool = True,
        vocabulary: bool = True,
        synchronous: Synchronous = "full",
        exist_ok: bool = False,
        fingerprints_only: bool = False,
        bits: int | None = None,
    ) -> Self:
        """Make a new store and open it.

        Args:
            place: Path of the file, or an SQLAlchemy URL.
            scheme: ``web``, ``simtool``, or a choice with options; None: ``web``.
            channels: ``simhash``, ``minhash`` or both: by which the store finds documents.
            policy: ``live``: each ingest and removal refreshes a corpus-dependent scheme at its
                end; ``frozen``: only :meth:`refresh` does.
            text: Keep the texts.
            vocabulary: Count the features of all documents.
            synchronous: As for :meth:`open`.
            exist_ok: Open the store where another process has made it meanwhile.
            fingerprints_only: Hold fingerprints that were made elsewhere, and no documents; see
                :meth:`add_fingerprints`. Takes no scheme.
            bits: Fingerprint length M of such a store, 1 to 128; None: 64.

        Raises:
            StoreExists: There is something at this place.
            InvalidParameter: The options do not go together.
        """
        from simstore.services.choose import SchemeChoice, make_scheme
        from simstore.services.maintain import create_store

        if fingerprints_only:
            if scheme is not None:
                raise InvalidParameter("a store of fingerprints alone has no scheme; leave it out")
            made: Scheme = GivenScheme(64 if bits is None else bits)
            simhash, minhash = True, False
            text = vocabulary = False
        else:
            if bits is not None:
                raise InvalidParameter("bits belong to the scheme: SchemeChoice(..., bits=...)")
            chosen = (
                SchemeChoice(scheme or "web") if not isinstance(scheme, SchemeChoice) else scheme
            )
            made = make_scheme(chosen)
            simhash, minhash = parse_channels(channels)
        sketching = Sketching(made.normalization)
        database = Database(place, synchronous=synchronous)
        try:
            create_store(
                database,
                made,
                channels=Channels(simhash, minhash, sketching),
                policy=policy,
                text_kept=text,
                vocabulary_recorded=vocabulary,
            )
        except StoreExists:
            if not exist_ok:
                raise
        finally:
            database.close()
        return cls.open(place, synchronous=synchronous)

    def close(self) -> None:
        """Close all connections."""
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

    # Documents in.

    def add(
        self,
        key: str,
        text: str,
        *,
        title: str | None = None,
        collection: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        seen_at: int | None = None,
        published_at: int | None = None,
        links: Sequence[str] = (),
        refresh: bool = True,
        on_duplicate: OnDuplicate = "keep",
        min_resemblance: float = 0.8,
    ) -> Outcome:
        """Add a document, or update the one with this key; durable on return.

        Args:
            key: Its key.
            text: Its text.
            title: Its title.
            collection: Name of the collection it belongs to.
            metadata: Further fields, JSON values.
            seen_at: When it was seen, seconds since 1970, UTC; None: now.
            published_at: When it was published.
            links: Keys that it links to.
            refresh: Refresh a live store at the end.
            on_duplicate: As for :meth:`add_many`.
            min_resemblance: As for :meth:`add_many`.

        Returns:
            ``added``, ``updated``, ``unchanged``, ``flagged`` or ``skipped``.
        """
        document = Document(
            key, text, title, collection, metadata or {},
            seen_at=seen_at, published_at=published_at,
            links=(links,) if isinstance(links, str) else tuple(links),
        )  # fmt: skip
        summary = self.add_many(
            [document],
            refresh=refresh,
            on_duplicate=on_duplicate,
            min_resemblance=min_resemblance,
        )
        if summary.added:
            return "added"
        if summary.updated:
            return "updated"
        return "flagged" if summary.flagged else "skipped" if summary.skipped else "unchanged"

    def add_many(
        self,
        given: Iterable[Addable],
        *,
        refresh: bool = True,
        threads: int | None = None,
        batch_documents: int | None = None,
        observer: Observer | None = None,
        on_duplicate: OnDuplicate = "keep",
        min_resemblance: float = 0.8,
    ) -> IngestSummary:
        """Add or update documents, in batches that are durable one by one.

        Args:
            given: Documents, (key, text) pairs, or mappings with ``key`` and ``text`` and
                perhaps ``title``, ``collection``, ``metadata``, ``seen_at``, ``published_at``
                and ``links``.
            refresh: Refresh a live store at the end.
            threads: Threads that prepare batches.
            batch_documents: Most documents a transaction.
            observer: Hears of progress.
            on_duplicate: What is done with a document that duplicates a stored one, verified and
                within the writer's transaction. ``keep``: it is stored, nothing is looked up;
                ``flag``: it is stored, and what it duplicates; ``skip``: only what it duplicates.
            min_resemblance: Least resemblance of a duplicate to its original.

        Raises:
            InvalidParameter: An option is out of its range.
            NotFound: Duplicates are asked for, and the store keeps nothing to verify them by.
        """
        self._check_takes_documents()
        from simstore.services.ingest import IngestOptions, Observer, ingest_documents

        options = IngestOptions(
            refresh=refresh,
            threads=threads,
            on_duplicate=on_duplicate,
            min_resemblance=min_resemblance,
        )
        if batch_documents is not None:
            options = replace(options, batch_documents=batch_documents)
        return ingest_documents(self._opened, map(accept, given), options, observer or Observer())

    def ingest(
        self,
        names: Sequence[str],
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Ingest files, folders, patterns, or ``-`` for standard input.

        Raises:
            SourceNotFound: A name means nothing; then nothing is ingested.
            MalformedRecord: ``options.strict`` and a record cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest import IngestOptions, Observer, ingest_sources

        sources, _ = open_sources(names, self._read_options(read))
        return ingest_sources(
            self._opened, sources, options or IngestOptions(), observer or Observer()
        )

    def ingest_query(
        self,
        place: str,
        statement: str,
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Ingest the rows of a query to another database, which is only read.

        Args:
            place: A database URL, or the path of an SQLite file.
            statement: One statement that returns rows, with a column for the key and one for the
                text.
            read: Which columns those are.
            options: How to ingest.
            observer: What hears of it.

        Raises:
            InvalidParameter: The place or the statement is none that can be read, or a column is
                missing.
            SourceNotFound: There is no such SQLite file.
            UnreadableSource: The database cannot be reached, or refuses the query.
            MalformedRecord: ``options.strict`` and a row cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest import IngestOptions, Observer, ingest_sources
        from simstore.services.rows import RowsSource

        source = RowsSource(place, statement, read or ReadOptions())
        return ingest_sources(
            self._opened, [source], options or IngestOptions(), observer or Observer()
        )

    def retry_rejections(
        self,
        *reject_ids: int,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Read rejected records again where they stand, and store those that can be used now.

        Args:
            reject_ids: Their numbers; none: all.
            read: How to read.
            options: How to ingest.
            observer: What hears of it.

        Raises:
            NotFound: A number is not there; then nothing is read.
            MalformedRecord: ``options.strict`` and a record cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest import IngestOptions, Observer
        from simstore.services.retry import retry_rejections

        return retry_rejections(
            self._opened,
            reject_ids,
            self._read_options(read),
            options or IngestOptions(),
            observer or Observer(),
        )

    def remove(
        self,
        *keys: str,
        missing_ok: bool = False,
        refresh: bool = True,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
        on_orphan: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents, in batches that are durable one by one; return how many.

        Args:
            keys: Keys; a repeated one counts once.
            missing_ok: Pass over keys that are not there.
            refresh: Refresh a live store at the end.
            on_progress: Called with keys done and in all.
            on_refresh: Called with documents refreshed and in all.
            on_orphan: Called with each key that was skipped as a duplicate of one that is removed.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        from simstore.services.remove import remove_documents

        return remove_documents(
            self._opened,
            keys,
            missing_ok=missing_ok,
            refresh_after=refresh,
            on_progress=on_progress,
            on_refresh=on_refresh,
            on_orphan=on_orphan,
        )

    def expire(
        self,
        *,
        not_seen_since: int | None = None,
        older_than: int | None = None,
        collection: str | None = None,
        dry_run: bool = False,
        refresh: bool = True,
        batch_documents: int | None = None,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
    ) -> ExpireSummary:
        """Remove what was not seen since a time, in batches that are durable one by one.

        Args:
            not_seen_since: The time, in seconds since 1970-01-01 UTC.
            older_than: Or so many seconds before now.
            collection: Only documents of this collection.
            dry_run: Only count.
            refresh: Refresh a live store at the end.
            batch_documents: Most documents a transaction; None: 8,000.
            on_progress: Called with documents done and in all.
            on_refresh: Called with documents refreshed and in all.

        Raises:
            InvalidParameter: Not one of the two times is given.
        """
        from simstore.services.expire import expire_documents, expiry_time
        from simstore.services.remove import BATCH_DOCUMENTS

        return expire_documents(
            self._opened,
            expiry_time(not_seen_since, older_than),
            collection=collection,
            dry_run=dry_run,
            refresh_after=refresh,
            batch_documents=BATCH_DOCUMENTS if batch_documents is None else batch_documents,
            on_progress=on_progress,
            on_refresh=on_refresh,
        )

    def duplicates(
        self, *, state: str | None = None, original: str | None = None
    ) -> Iterator[Duplicate]:
        """Yield what checks before the insert found to be duplicates, by their keys.

        Args:
            state: Only those that are ``flagged``, ``skipped`` or ``orphaned``.
            original: Only those of the document with this key.

        Raises:
            InvalidParameter: There is no such state.
        """
        from simstore.services.duplicates import iterate_duplicates

        return iterate_duplicates(self._opened, state=state, original=original)

    def orphans(self) -> Iterator[Duplicate]:
        """Yield the keys that were skipped because of documents which have gone or changed.

        Nothing stands for them: they should be ingested again, which clears them.
        """
        return self.duplicates(state="orphaned")

    # Fingerprints without documents.

    def add_fingerprints(self, values: Values, *, on_progress: Progress | None = None) -> int:
        """Add fingerprints to a store of fingerprints alone; return how many were not there.

        Args:
            values: An array of uint64, shape (n,) up to 64 bits, else (n, 2), the most significant
                word first; or integers.
            on_progress: Called with fingerprints added and in all; what it was told is durable.

        Raises:
            InvalidParameter: The store is one of documents, or a value does not fit M.
        """
        from simstore.services.given import add_fingerprints

        return add_fingerprints(self._opened, values, on_progress)

    def remove_fingerprints(self, values: Values, *, on_progress: Progress | None = None) -> int:
        """Remove fingerprints from a store of fingerprints alone; return how many were there.

        Args:
            values: As for :meth:`add_fingerprints`.
            on_progress: Called with fingerprints done and in all; what it was told is durable.

        Raises:
            InvalidParameter: The store is one of documents, or a value does not fit M.
        """
        from simstore.services.given import remove_fingerprints

        return remove_fingerprints(self._opened, values, on_progress)

    @contextmanager
    def reader(self, *, resident: bool | None = None) -> Iterator[Reader]:
        """Yield a reader of the fingerprints of one snapshot, for many questions in a row.

        Args:
            resident: Answer from memory, where all fingerprints are read to first; None: as the
                store was opened.
        """
        from simstore.services.reader import Reader
        from simstore.services.resident import ResidentIndex

        kept = self._opened.resident
        if resident is None:
            resident = kept is not None
        with self._opened.database.read() as connection:
            state = self._opened.state(connection)
            index = (kept or ResidentIndex()) if resident else None
            reader = Reader(self._opened, connection, state, index)
            try:
                yield reader
            finally:
                reader.close()

    # Questions.

    def query(
        self,
        text: str,
        *,
        radius: int | None = None,
        first: bool = False,
        limit: int | None = None,
        collection: str | None = None,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
    ) -> list[Match]:
        """Return the documents near a text, by distance, then order of ingest.

        They are those within the radius, and those whose sketches agree in a band.

        Args:
            text: The sample.
            radius: Largest Hamming distance, bits, inclusive; None: min(3, M).
            first: Stop at the first match.
            limit: Most matches.
            collection: Only documents of this collection.
            min_resemblance: Only documents of this resemblance, 0 to 1.
            min_containment: Only documents that contain this much of the text, 0 to 1.
        """
        options = QueryOptions(
            radius=radius,
            first=first,
            limit=limit,
            collection=collection,
            min_resemblance=min_resemblance,
            min_containment=min_containment,
        )
        run = query_samples(self._opened, [accept(("", text))], options, record=False)
        return list(run.samples[0].matches)

    def query_many(
        self, samples: Iterable[Addable], options: QueryOptions | None = None
    ) -> list[SampleResult]:
        """Return the matches of each sample, in the order of the samples."""
        run = query_samples(
            self._opened, map(accept, samples), options or QueryOptions(), record=False
        )
        return list(run.samples)

    def query_sources(
        self,
        names: Sequence[str],
        options: QueryOptions | None = None,
        *,
        read: ReadOptions | None = None,
        record: bool = True,
        require_fresh: bool = False,
        on_progress: Callable[[int, int | None], None] | None = None,
    ) -> QueryRun:
        """Query with the documents of files, folders, patterns, or standard input as samples.

        Args:
            names: As for :meth:`ingest`.
            options: How to look.
            read: How to read the sources.
            record: Keep the run for :meth:`report`.
            require_fresh: Refresh a stale generation first.
            on_progress: Called with bytes read, and bytes in all where that is known.
        """
        sources, _ = open_sources(names, self._read_options(read))
        samples: Iterator[Document | Rejection] = (
            sample
            for source in sources
            for sample in source.records()
            if not isinstance(sample, PassedOver)
        )

        def tell() -> None:
            sizes = [source.total_bytes for source in sources]
            total = None if None in sizes else sum(size or 0 for size in sizes)
            if on_progress is not None:
                on_progress(sum(source.bytes_read for source in sources), total)

        return query_samples(
            self._opened,
            samples,
            options or QueryOptions(),
            sources=names,
            record=record,
            require_fresh=require_fresh,
            on_progress=tell,
        )

    def compare(
        self,
        first: str | Document,
        second: str | Document,
        options: CompareOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> Comparison:
        """Compare two texts by every algorithm, side by side.

        Args:
            first: Key of a stored document, or a document whose text is given.
            second: Another one.
            options: How to compare.
            on_progress: Called with algorithms done and in all.

        Raises:
            DocumentNotFound: No document has a key.
            NotFound: The store keeps no texts.
        """
        from simstore.services.compare_stored import compare_in_store

        return compare_in_store(self._opened, first, second, options, on_progress=on_progress)

    def clusters(
        self, options: ClusterOptions | None = None, *, on_progress: Progress | None = None
    ) -> Clustering:
        """Return clusters of near-duplicates: stars of verified edges to a canonical document.

        Nothing is stored.

        Args:
            options: How to cluster.
            on_progress: Called with documents read and in all, then with texts read and in all.

        Raises:
            InvalidParameter: A parameter is out of its range, or asks for what the store has not.
            NotFound: The store keeps nothing to verify candidates by.
        """
        self._check_takes_documents()
        from simstore.services.cluster import ClusterOptions, cluster_documents

        return cluster_documents(self._opened, options or ClusterOptions(), on_progress)

    def keep_clusters(
        self,
        *,
        min_resemblance: float | None = None,
        policy: str | None = None,
        rebuild: bool = False,
        on_progress: Progress | None = None,
    ) -> KeptSummary:
        """Bring the clusters that the store keeps up to date; the first time, make them.

        Args:
            min_resemblance: Least resemblance of a member to its canonical document; None: that
                of the clusters that are kept, else 0.5.
            policy: ``first``, ``longest`` or ``prefer:REGEX``; None: as above, else ``first``.
            rebuild: Make them anew, by what is given.
            on_progress: Called with texts done and in all.

        Raises:
            InvalidParameter: A parameter is out of its range, or other than that of the clusters
                that are kept and they are not to be made anew.
            NotFound: The store keeps neither texts nor sketches to verify by.
            ReadOnlyStore: It cannot be written.
        """
        self._check_takes_documents()
        from simstore.services.kept_clusters import keep_clusters

        return keep_clusters(
            self._opened,
            min_resemblance=min_resemblance,
            policy=policy,
            rebuild=rebuild,
            on_progress=on_progress,
        )

    def kept_clusters(self, min_size: int = 2) -> Iterator[KeptCluster]:
        """Yield the kept clusters, as they were last brought up to date, by their names.

        Args:
            min_size: Leave out clusters of fewer documents.

        Raises:
            NotFound: The store keeps no clusters.
        """
        from simstore.services.kept_reading import kept_clusters

        return kept_clusters(self._opened, min_size=min_size)

    def cluster_of(self, key: str) -> ClusterPlace | None:
        """Return where a document stands among the kept clusters; None where it does not.

        Raises:
            DocumentNotFound: There is no document with the key.
        """
        from simstore.services.kept_reading import cluster_of

        return cluster_of(self._opened, key)

    def cluster_members(self, cluster_id: int) -> KeptCluster | None:
        """Return a kept cluster by its name; None where there is none, or none any more."""
        from simstore.services.kept_reading import cluster_members

        return cluster_members(self._opened, cluster_id)

    def cluster_merges(self) -> Iterator[ClusterMerge]:
        """Yield the kept clusters that have ended, by their names."""
        from simstore.services.kept_reading import cluster_merges

        return cluster_merges(self._opened)

    def cluster_summary(self, *, largest: bool = False) -> KeptSummary | None:
        """Return what there is of kept clusters; None where none are kept.

        Args:
            largest: Count the documents of the largest, too; it looks at every text.
        """
        from simstore.services.kept_clusters import kept_summary

        return kept_summary(self._opened, largest=largest)

    def drop_clusters(self) -> bool:
        """Forget the kept clusters; return whether there were any."""
        from simstore.services.kept_clusters import drop_clusters

        return drop_clusters(self._opened)

    def evaluate(
        self,
        labels: Labels,
        options: EvaluateOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> Evaluation:
        """Tell how well the store finds what is labelled, by each method, at each threshold.

        Args:
            labels: What is near-duplicate of what.
            options: How to evaluate.
            on_progress: Called with documents read and in all.

        Raises:
            NotFound: No document of the store is labelled.
        """
        self._check_takes_documents()
        from simstore.services.evaluate import EvaluateOptions, evaluate_store

        return evaluate_store(self._opened, labels, options or EvaluateOptions(), on_progress)

    def exact_pairs(
        self, min_resemblance: float = 0.5, *, on_progress: Progress | None = None
    ) -> list[ExactPair]:
        """Return all pairs of documents of a least resemblance, in order of ingest; none is missed.

        Args:
            min_resemblance: Above 0, at most 1, inclusive.
            on_progress: Called with documents read and in all.

        Raises:
            NotFound: The store keeps no texts.
        """
        self._check_takes_documents()
        from simstore.services.evaluate import exact_pairs

        return exact_pairs(self._opened, min_resemblance, on_progress)

    def export(
        self,
        target: str | os.PathLike[str],
        options: ExportOptions | None = None,
        *,
        on_progress: Progress | None = None,
    ) -> ExportSummary:
        """Write the documents of one snapshot to a file, all or a part, in order of ingest.

        Args:
            target: The file; ``-`` is standard output.
            options: What to write, and how.
            on_progress: Called with documents done and in all.

        Raises:
            OutputExists: There is a file already, and the options do not say to replace it.
            StorageError: It cannot be written; then it is not there.
        """
        self._check_takes_documents()
        from simstore.services.export import ExportOptions, export_documents

        return export_documents(self._opened, target, options or ExportOptions(), on_progress)

    def known_filter(
        self,
        *,
        false_positive_rate: float = 0.001,
        of: Sequence[str] = ("keys", "digests"),
        capacity: int | None = None,
        on_progress: Progress | None = None,
    ) -> KnownFilter:
        """Return a filter of the keys and the texts that the store knows, for a crawler.

        Args:
            false_positive_rate: Largest share of strangers that are taken for known.
            of: ``keys``, ``digests`` (of texts) or both.
            capacity: Keys, and as many texts, that it has room for; None: a quarter more.
            on_progress: Called with members added and in all.

        Raises:
            InvalidParameter: A parameter is out of its range.
        """
        self._check_takes_documents()
        from simstore.services.known import known_filter

        return known_filter(
            self._opened,
            false_positive_rate=false_positive_rate,
            of=of,
            capacity=capacity,
            on_progress=on_progress,
        )

    def report(self, run_id: int | None = None) -> QueryRun:
        """Return a recorded query run, the latest where none is named.

        Raises:
            RunNotFound: There is none.
        """
        with self._opened.database.read() as connection:
            run = queries.load_run(connection, run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run

    def query_runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """Return the latest query runs, the newest first."""
        with self._opened.database.read() as connection:
            return queries.recent_runs(connection, limit)

    def show(self, key: str, *, with_text: bool = False) -> StoredDocument:
        """Return a document.

        Raises:
            DocumentNotFound: No document has the key.
        """
        from simstore.services import show

        return show.show_document(self._opened, key, with_text=with_text)

    def documents(
        self,
        *,
        collection: str | None = None,
        limit: int | None = None,
        with_text: bool = False,
    ) -> Iterator[StoredDocument]:
        """Yield the documents in order of ingest."""
        from simstore.services import show

        return show.iterate_documents(
            self._opened, collection=collection, limit=limit, with_text=with_text
        )

    def __iter__(self) -> Iterator[StoredDocument]:
        return self.documents()

    def __len__(self) -> int:
        with self._opened.database.read() as connection:
            return documents.count(connection)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            wanted = encode(key)
        except InvalidParameter:
            return False
        with self._opened.database.read() as connection:
            return bool(documents.by_keys(connection, [wanted]))

    def story(self, key: str, *, original: str = "first-seen") -> Story:
        """Return when a key was seen, what is like it, and which of them is the original.

        Args:
            key: The key of a document, or one that was skipped as a duplicate.
            original: ``first-seen``: the one that was surely there first; ``linked``: the one that
                most of the others link to; ``prefer:REGEX``: one with such a key.

        Raises:
            DocumentNotFound: The key was never seen.
            InvalidParameter: There is no such rule.
        """
        from simstore.services.story import tell_story

        return tell_story(self._opened, key, original=original)

    def seen(self, key: str) -> Seen | None:
        """Return what became of a key; None where it was never seen, or was forgotten."""
        return self.seen_many([key])[0]

    def seen_many(self, keys: Sequence[str]) -> list[Seen | None]:
        """Return what became of each key; None where it was never seen, or was forgotten."""
        from simstore.services.seen import look_up_keys

        return look_up_keys(self._opened, keys)

    def seen_content(self, content: str | bytes) -> list[Seen]:
        """Return the keys under which a content was seen, the first seen in front.

        Args:
            content: The text, or its digest: BLAKE2b of its UTF-8, 16 bytes.
        """
        from simstore.services.seen import digest_of, look_up_content

        digest = digest_of(content) if isinstance(content, str) else content
        return look_up_content(self._opened, digest)

    # The vocabulary and its generations.

    def refresh(
        self, *, force: bool = False, on_progress: Progress | None = None
    ) -> RefreshSummary:
        """Make the standing generation cover every document and the present vocabulary."""
        from simstore.services import refresh

        return refresh.refresh(self._opened, force=force, on_progress=on_progress)

    def vocabulary_status(self) -> VocabularyStatus:
        """Return how far the standing generation has drifted from the vocabulary."""
        from simstore.services import drift

        return drift.status(self._opened)

    def vocabulary(self, limit: int | None = None) -> list[VocabularyTerm]:
        """Return the most frequent features of the stored documents."""
        from simstore.services import drift

        return drift.top_terms(self._opened, limit)

    def set_policy(self, policy: Policy) -> None:
        """Change whether ingest and removal refresh the store at their end."""
        if policy not in ("live", "frozen"):
            raise InvalidParameter(f"policy {policy!r}: choose live or frozen")
        with self._opened.write() as connection:
            generations.set_policy(connection, policy)

    def reindex(
        self,
        scheme: SchemeChoice | None = None,
        *,
        channels: Sequence[str] | None = None,
        resume: bool = False,
        on_progress: Progress | None = None,
    ) -> str:
        """Make fingerprints and sketches anew from the kept texts; return the scheme's label.

        Args:
            scheme: The new scheme; None: the present one, as this installation computes it.
            channels: ``simhash``, ``minhash`` or both; None: as before.
            resume: Go on with a reindex that was interrupted.
            on_progress: Called with documents done and in all.
        """
        self._check_takes_documents()
        from simstore.services import reindex
        from simstore.services.choose import make_scheme

        made = None if scheme is None else make_scheme(scheme)
        wanted = None if channels is None else parse_channels(channels)
        return reindex.reindex(self._opened, made, wanted, resume=resume, on_progress=on_progress)

    def abort_reindex(self) -> None:
        """Give up a reindex that was interrupted."""
        from simstore.services import reindex

        reindex.abort(self._opened)

    # The store itself.

    def statistics(self) -> StoreStatistics:
        """Return the store in numbers."""
        from simstore.services import show

        return show.statistics(self._opened)

    def figures(self, *, on_progress: Progress | None = None) -> StoreFigures:
        """Return the store over time: documents, duplicates, kept clusters, vocabulary.

        Args:
            on_progress: Called with documents of a sample counted, and its size.
        """
        self._check_takes_documents()
        from simstore.services.figures import store_figures

        return store_figures(self._opened, on_progress)

    def scheme(self) -> dict[str, Any]:
        """Return the scheme's name, version, bits and options."""
        from simstore.services import show

        return show.scheme_record(self._opened)

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        on_progress: Progress | None = None,
    ) -> int:
        """Copy the store while it is used, check the copy; return its size in bytes.

        Args:
            target: The copy.
            replace: Put it in the place of a file that is there.
            on_progress: Called with pages copied and in all.
        """
        from simstore.services import maintain

        return maintain.backup(self._opened, Path(target), replace=replace, on_progress=on_progress)

    def compact(
        self, bands: tuple[int, int] | None = None, *, on_progress: Progress | None = None
    ) -> tuple[int, int]:
        """Pack the sketches, give unused space back; return the file's bytes before and after.

        Args:
            bands: Number of bands and values a band to pack by from now on; None: as before.
            on_progress: Called with bands done and in all.

        Raises:
            InvalidParameter: The sketch has not so many values, or the store no sketches.
        """
        from simstore.services import maintain

        layout = None if bands is None else BandLayout(*bands)
        return maintain.compact(self._opened, layout, on_progress)

    def pack(
        self,
        *,
        fingerprints: bool = True,
        sketches: bool = True,
        on_progress: Progress | None = None,
    ) -> int:
        """Put fingerprints and sketches into pages; return how many fingerprints were packed.

        Pages take less room and are looked up faster; the answers are the same. A long tail is
        packed at the end of an ingest, that of fingerprints from a million of them on.

        Args:
            fingerprints: Pack them, where there are any.
            sketches: Pack their bands, where there are any.
            on_progress: Called with fingerprints packed and in all, then with bands.

        Raises:
            InvalidParameter: ``fingerprints`` alone, and those of this length have no pages.
            Conflict: Another process packs the sketches, or a reindex is under way.
        """
        from simstore.services import maintain

        return maintain.pack(
            self._opened, fingerprints=fingerprints, bands=sketches, on_progress=on_progress
        )

    def unpack(self, *, on_progress: Progress | None = None) -> int:
        """Put packed fingerprints back into plain rows; return how many.

        Args:
            on_progress: Called with fingerprints in rows and in all.

        Raises:
            InvalidParameter: Fingerprints of this length have no pages.
        """
        from simstore.services import pack_fingerprints

        return pack_fingerprints.unpack(self._opened, on_progress)

    def fsck(self, on_progress: Progress | None = None) -> list[Finding]:
        """Return every broken invariant; an empty list for a sound store."""
        from simstore.services import fsck

        return fsck.check_store(self._opened, on_progress)

    def ingest_runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """Return the latest ingest runs, the newest first."""
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.recent_runs(connection, limit)

    def rejections(self, reject_id: int | None = None) -> list[StoredRejection]:
        """Return the records that could not be stored, or the one with this number."""
        from simstore.storage import runs

        with self._opened.database.read() as connection:
            return runs.rejections(connection, reject_id)

    def clear_rejections(self) -> int:
        """Forget the records that could not be stored; return how many there were."""
        from simstore.storage import runs

        with self._opened.write() as connection:
            return runs.clear_rejections(connection)

    def _check_takes_documents(self) -> None:
        if self._takes_documents is None:
            with self._opened.database.read() as connection:
                found = generations.scheme_with_status(connection, "standing")
            self._takes_documents = found is None or found[1].name != GivenScheme.name
        if not self._takes_documents:
            raise no_recipe()

    def _read_options(self, given: ReadOptions | None) -> ReadOptions:
        """Return how to read for this store: against ``simtool``, text files are article files."""
        options = given or ReadOptions()
        with self._opened.database.read() as connection:
            found = generations.scheme_with_status(connection, "standing")
        if found is not None and found[1].name == "simtool":
            return replace(options, texts_are_articles=True)
        return options


def upgrade(place: str | os.PathLike[str]) -> tuple[str, str, Path | None]:
    """Bring an older store to the present schema, after a backup.

    Returns:
        The revision before and after, and the backup; None where nothing was to be done.
    """
    from simstore.services import maintain

    database = Database(place)
    try:
        return maintain.upgrade(database)
    finally:
        database.close()


def create_for_folder(
    place: str | os.PathLike[str], folder: Path, *, text: bool = True
) -> tuple[Store, SchemeChoice]:
    """Make a store for what lies in a folder: ``simtool`` for the course's files, else ``web``."""
    from simstore.services.choose import choice_for_folder

    choice = choice_for_folder(folder)
    return Store.create(place, scheme=choice, text=text, exist_ok=True), choice
