"""Methods of the store: adding documents, one, many, or from sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simstore.errors import check_numbers
from simstore.model import (
    ClustersStatus,
    Document,
    Duplicate,
    IngestSummary,
    OnDuplicate,
    Outcome,
    StoredRejection,
)
from simstore.sources.documents import Addable
from simstore.sources.files import open_sources
from simstore.sources.reader import ReadOptions
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.generations.refresh import Progress
    from simstore.services.ingest.ingest import IngestOptions, Observer
    from simstore.sources.spark_results import DedupedOutput


class IngestMixin(Opened):
    """Documents come in."""

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
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
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
            radius: As for :meth:`add_many`.

        Returns:
            ``added``, ``updated``, ``unchanged``, ``flagged`` or ``skipped``.
        """
        document = Document(
            key, text, title=title, collection=collection, metadata=metadata or {},
            seen_at=seen_at, published_at=published_at,
            links=(links,) if isinstance(links, str) else tuple(links),
        )  # fmt: skip
        summary = self.add_many(
            [document],
            refresh=refresh,
            on_duplicate=on_duplicate,
            min_resemblance=min_resemblance,
            radius=radius,
        )
        return outcome_of(summary)

    def add_many(
        self,
        given: Iterable[Addable],
        *,
        read: ReadOptions | None = None,
        refresh: bool = True,
        threads: int | None = None,
        batch_documents: int | None = None,
        observer: Observer | None = None,
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
    ) -> IngestSummary:
        """Add or update documents, in batches that are durable one by one.

        Args:
            given: Documents, (key, text) pairs, or mappings with ``key`` and ``text`` and
                perhaps ``title``, ``collection``, ``metadata``, ``seen_at``, ``published_at``
                and ``links``. Or a table, whose rows are records as those of a Parquet file: a
                DataFrame of pandas or polars, a table of PyArrow, a data set of Hugging Face;
                rows that cannot be used are rejected.
            read: How records are read, their ``key_field``, ``text_field`` and the like; where
                it is given, mappings are records too.
            refresh: Refresh a live store at the end.
            threads: Threads that prepare batches.
            batch_documents: Most documents a transaction.
            observer: Hears of progress.
            on_duplicate: What is done with a document that duplicates a stored one, verified and
                within the writer's transaction. ``keep``: it is stored, nothing is looked up;
                ``flag``: it is stored, and what it duplicates; ``skip``: only what it duplicates.
                None: as the store was made; ``keep`` unless it says otherwise.
            min_resemblance: Least resemblance of a duplicate to its original, above 0, at most 1;
                None: 0.8, or any where there is a radius.
            radius: Largest distance of a duplicate's fingerprint to its original's, bits,
                inclusive; None: it does not count. Where both are given, both have to hold.

        Raises:
            InvalidParameter: An option is out of its range, a table has no column for key or
                text, or what is given is no document; what came before it is stored.
            NotFound: Duplicates are asked for, and the store keeps nothing to verify them by.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import IngestOptions, Observer, ingest_documents
        from simstore.sources.frames import documents_of

        options = IngestOptions(
            refresh=refresh,
            threads=threads,
            on_duplicate=on_duplicate,
            min_resemblance=min_resemblance,
            radius=radius,
        )
        if batch_documents is not None:
            options = replace(options, batch_documents=batch_documents)
        return ingest_documents(
            self._opened, documents_of(given, read), options, observer or Observer()
        )

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
        from simstore.services.ingest.ingest import IngestOptions, Observer, ingest_sources

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
        from simstore.services.ingest.external_query import RowsSource
        from simstore.services.ingest.ingest import IngestOptions, Observer, ingest_sources

        source = RowsSource(place, statement, read or ReadOptions())
        return ingest_sources(
            self._opened, [source], options or IngestOptions(), observer or Observer()
        )

    def import_deduped(
        self,
        output: DedupedOutput | str,
        *,
        clusters: bool = True,
        observer: Observer | None = None,
        on_progress: Progress | None = None,
    ) -> tuple[IngestSummary, ClustersStatus | None]:
        """Add what ``simstore spark dedup`` found: its documents, in their order, and its clusters.

        Clusters are taken without comparing where the store finds edges by the same rule and has no
        other documents; else they are made as :meth:`keep_clusters` makes them.

        Args:
            output: The folder, or what was read of it.
            clusters: Keep clusters.
            observer: Hears of progress.
            on_progress: Called with documents read and in all while clusters are made.

        Returns:
            What became of the documents, and of the clusters; None: none are kept, or it was
            interrupted.

        Raises:
            NotFound: No run has finished in the folder.
            InvalidParameter: The store has another scheme.
            MissingExtra: PyArrow is not installed.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import Observer
        from simstore.services.ingest.spark_results import import_deduped
        from simstore.sources.spark_results import DedupedOutput

        return import_deduped(
            self._opened,
            DedupedOutput(output) if isinstance(output, str) else output,
            observer or Observer(),
            clusters=clusters,
            on_progress=on_progress,
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
        from simstore.services.ingest.ingest import IngestOptions, Observer
        from simstore.services.ingest.retry import retry_rejections

        return retry_rejections(
            self._opened,
            reject_ids,
            self._read_options(read),
            options or IngestOptions(),
            observer or Observer(),
        )

    def duplicates(
        self,
        *,
        state: str | None = None,
        original: str | None = None,
        after: str | None = None,
    ) -> Iterator[Duplicate]:
        """Yield what checks before the insert found to be duplicates, by their keys.

        Args:
            state: Only those that are ``flagged``, ``skipped`` or ``orphaned``.
            original: Only those of the document with this key.
            after: Only those behind this key, by its bytes.

        Raises:
            InvalidParameter: There is no such state.
        """
        from simstore.services.duplicates.duplicates import iterate_duplicates

        return iterate_duplicates(self._opened, state=state, original=original, after=after)

    def duplicate(self, key: str) -> Duplicate | None:
        """Return what a key duplicates; None where no check before the insert found it to."""
        from simstore.services.duplicates.duplicates import duplicate_of_key

        return duplicate_of_key(self._opened, key)

    def orphans(self) -> Iterator[Duplicate]:
        """Yield the keys that were skipped because of documents which have gone or changed.

        Nothing stands for them: they should be ingested again, which clears them.
        """
        return self.duplicates(state="orphaned")

    def ingest_runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """Return the latest runs that stored or removed documents, the newest first.

        Each is a record of the table ``ingest_run``: ``kind`` is ``ingest``, ``remove`` or
        ``expire``; of an expiry ``not_seen_since`` and ``collection`` say what it went by.

        Args:
            limit: At most so many.
        """
        from simstore.storage import runs

        check_numbers(limit=limit)
        with self._opened.database.read() as connection:
            return runs.recent_runs(connection, limit)

    def rejections(
        self, reject_id: int | None = None, *, limit: int | None = None, after: int = 0
    ) -> list[StoredRejection]:
        """Return the records that could not be stored, or the one with this number.

        Args:
            reject_id: Its number; None: all, the oldest first.
            limit: Most of them; None: all.
            after: Only those with larger numbers, for the next ones after a limit.
        """
        from simstore.storage import runs

        check_numbers(number=reject_id, limit=limit, after=after)
        with self._opened.database.read() as connection:
            return runs.rejections(connection, reject_id, limit=limit, after=after)

    def clear_rejections(self) -> int:
        """Forget the records that could not be stored; return how many there were."""
        from simstore.storage import runs

        with self._opened.write() as connection:
            return runs.clear_rejections(connection)


def outcome_of(summary: IngestSummary) -> Outcome:
    """Return what became of the only document of a run."""
    if summary.added:
        return "added"
    if summary.updated:
        return "updated"
    return "flagged" if summary.flagged else "skipped" if summary.skipped else "unchanged"
