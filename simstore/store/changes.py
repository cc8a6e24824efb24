"""Verbs that change a store: documents come in, and leave."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simstore.model import (
    Document,
    ExpireSummary,
    IngestSummary,
    OnDuplicate,
    Outcome,
    SqlRows,
)
from simstore.sources.documents import Addable
from simstore.sources.files import names_of, open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import Source
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.services.generations.refresh import Progress
    from simstore.services.ingest.ingest import IngestOptions, Observer


class Changes(Opened):
    """Documents come in, and leave."""

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

        >>> store.add("bread", "Mix flour, water, salt and yeast, and let the dough rise.")
        'added'
        >>> store.add("bread", "Mix flour, water, salt and yeast, and let the dough rise.")
        'unchanged'

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
        documents: Iterable[Addable],
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

        >>> summary = store.add_many([
        ...     ("bread", "Mix flour, water, salt and yeast, and let the dough rise."),
        ...     {"key": "soup", "text": "Boil the bones for two hours.", "title": "Soup"},
        ... ])
        >>> summary.added
        2

        Args:
            documents: Documents, (key, text) pairs, or mappings with ``key`` and ``text`` and
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
            self._opened, documents_of(documents, read), options, observer or Observer()
        )

    def ingest(
        self,
        names: str | os.PathLike[str] | Sequence[str] | SqlRows,
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Ingest files, folders, patterns, standard input, or rows of another database.

        >>> Path("soup.txt").write_text("Boil the bones for two hours.")
        29
        >>> store.ingest("soup.txt").added
        1
        >>> store.ingest("soup.txt").unchanged
        1

        Args:
            names: One of them or several; ``-`` is standard input. Or the rows of a query to
                another database, :class:`simstore.SqlRows`.
            read: How to read them.
            options: How to ingest.
            observer: Hears of progress.

        Raises:
            SourceNotFound: A name means nothing; then nothing is ingested.
            UnreadableSource: A database cannot be reached, or refuses the query.
            MalformedRecord: ``options.strict`` and a record cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import IngestOptions, Observer, ingest_sources

        sources: list[Source]
        if isinstance(names, SqlRows):
            from simstore.services.ingest.external_query import RowsSource

            sources = [RowsSource(names.place, names.statement, read or ReadOptions())]
        else:
            sources, _ = open_sources(names_of(names), self._read_options(read))
        return ingest_sources(
            self._opened, sources, options or IngestOptions(), observer or Observer()
        )

    def remove(
        self,
        *keys: str,
        missing_ok: bool = False,
        refresh: bool = True,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents, in batches that are durable one by one; return how many.

        >>> store.remove("ferry-2026")
        1
        >>> store.remove("ferry-2026", missing_ok=True)
        0

        Args:
            keys: Keys; a repeated one counts once.
            missing_ok: Ignore keys that are not there.
            refresh: Refresh a live store at the end.
            on_progress: Called with keys done and in all.
            on_refresh: Called with documents refreshed and in all.
            on_orphan: Called with each key that was skipped as a duplicate of one that is removed.
            on_unflagged: Called with each key that stays, and was flagged as a duplicate of one
                that is removed: it is an original now.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        from simstore.services.removal.remove import remove_documents

        return remove_documents(
            self._opened,
            keys,
            missing_ok=missing_ok,
            refresh_after=refresh,
            on_progress=on_progress,
            on_refresh=on_refresh,
            on_orphan=on_orphan,
            on_unflagged=on_unflagged,
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

        >>> store.expire(older_than=90 * 86_400, dry_run=True).removed
        0

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
        from simstore.services.removal.expire import expire_documents, expiry_time
        from simstore.services.removal.remove import BATCH_DOCUMENTS

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


def outcome_of(summary: IngestSummary) -> Outcome:
    """Return what became of the only document of a run."""
    if summary.added:
        return "added"
    if summary.updated:
        return "updated"
    return "flagged" if summary.flagged else "skipped" if summary.skipped else "unchanged"
