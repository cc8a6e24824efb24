"""``Store`` methods that add, ingest, remove and expire documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from simstore.model import (
    DocumentFilter,
    DocumentFilterKeywords,
    DocumentKeywords,
    ExpireSummary,
    IngestSummary,
    OnDuplicate,
    Outcome,
    TimeOrAge,
    with_keywords,
)
from simstore.sources.documents import DocumentsGiven, document_with, keys_of
from simstore.sources.files import names_of, open_sources
from simstore.sources.reader import ReadOptions
from simstore.store.opened import Opened

if TYPE_CHECKING:
    from simstore.model import Progress
    from simstore.services.ingest.options import IngestFilesKeywords, IngestOptions, Observer


class Changes(Opened, of="Store"):
    """``Store`` methods that add, ingest, remove and expire documents."""

    def add(
        self,
        key: str,
        text: str,
        *,
        refresh: bool = True,
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
        channels: Sequence[str] = (),
        short_texts: bool = False,
        **said: Unpack[DocumentKeywords],
    ) -> Outcome:
        """Add a document, or update the one with this key; durable on return.

        >>> store.add("bread", "Mix flour, water, salt and yeast.")
        'added'
        >>> store.add("bread", "Mix flour, water, salt and yeast.")
        'unchanged'

        Args:
            key: Its key.
            text: Its text.
            refresh: Refresh a live store at the end.
            on_duplicate: What is done with a near-duplicate of a stored
                document: ``keep`` it, ``flag`` it (store it, and what it
                duplicates), or ``skip`` it (store only what it duplicates).
                None: as the store was made; ``keep`` unless it says otherwise.
            min_resemblance: Least resemblance of a near-duplicate, above 0, at
                most 1; None: as for :meth:`add_many`, 0.8.
            radius: Largest distance of its fingerprint, bits; None: it does not
                count.
            channels: By which near-duplicates are looked for; as for
                :meth:`add_many`, and so ``short_texts``.
            short_texts: Short texts are near-duplicates too.

        Keyword Args:
            title: Its title.
            collection: Name of the collection it belongs to.
            metadata: Further fields, JSON values.
            seen_at: When it was seen: a datetime or date, ISO 8601 or seconds
                since 1970, UTC without a zone; None: now.
            published_at: When it was published, in the same ways.
            links: Keys that it links to.

        Returns:
            ``added``, ``updated``, ``unchanged``, ``flagged`` or ``skipped``.
        """
        given = document_with("Store.add", key, text, said)
        self._check_takes_documents()
        from simstore.services.ingest.options import options_of_one

        options = options_of_one(
            refresh, on_duplicate, min_resemblance, radius, tuple(channels), short_texts
        )
        from simstore.services.ingest.one_document import store_one

        return store_one(self._opened, given, options)

    def add_many(
        self,
        documents: DocumentsGiven,
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
        progress: bool = False,
        **keywords: Unpack[IngestFilesKeywords],
    ) -> IngestSummary:
        """Add or update documents, in batches that are durable one by one.

        >>> summary = store.add_many([
        ...     ("bread", "Mix flour, water, salt and yeast."),
        ...     {"id": "soup", "text": "Boil the bones.", "title": "Soup"},
        ... ])
        >>> summary.added
        2
        >>> lines = ["Rye needs sour dough.", "Rye needs sour dough.", "Oats."]
        >>> store.add_many(enumerate(lines), on_duplicate="skip").skipped
        1

        Args:
            documents: What has keys and texts: (key, text) pairs, a mapping of
                keys to texts, records (mappings with a key, as ``key``, ``id``,
                ``url`` or ``doc_id``, a text, as ``text`` or ``content``, and
                what else belongs to it), or :class:`simstore.Document`. Or a
                table, whose rows are records: a DataFrame of pandas or polars,
                a table of PyArrow, a data set of Hugging Face. Rows that cannot
                be used are rejected, and so are records where ``key_field``,
                ``text_field`` or ``read`` say how they are read;
                ``store.rejects`` has them.
            read: How records are read, as an object; keywords go before it.
            options: How to ingest, as an object; keywords go before it.
            observer: Hears of what happens.
            progress: Show how far it is, in a terminal.

        Keyword Args:
            key_field: Field of records that holds the key; None: the first of
                the usual ones.
            text_field: Field that holds the text; None: the first of the usual
                ones.
            collection: Collection of documents that name none.
            on_duplicate: What is done with a near-duplicate of a stored
                document, verified and within the writer's transaction.
                ``keep``: it is stored, nothing is looked up; ``flag``: it is
                stored, and what it duplicates; ``skip``: only what it
                duplicates. None: as the store was made; ``keep`` unless it says
                otherwise.
            min_resemblance: Least resemblance of a near-duplicate to its
                original, above 0, at most 1; None: as the store was made, 0.8
                unless it says otherwise (text may be lost by it, so it asks for
                more than clusters do), or any where there is a radius.
            radius: Largest distance of a near-duplicate's fingerprint to its
                original's, bits; None: it does not count. Where both are given,
                both have to hold.
            channels: By which near-duplicates are looked for: ``simhash``,
                ``minhash``, or ``characters`` alone, for scans and typed
                copies; the resemblance is then that of runs of characters, 0.5
                where none is given. None named: those of words.
            short_texts: With ``characters``, texts of at most 24 words are
                near-duplicates too; else "Chapter 1" is not "Chapter 2".
            strict: Stop at the first record that cannot be used.
            refresh: Refresh a live store at the end.
            threads: Threads that prepare batches; None: at most 4.
            batch_documents: Most documents a transaction.

        Returns:
            How many were added, updated, unchanged, flagged, skipped and
            rejected, and why.

        Raises:
            InvalidParameter: An option is out of its range, a table has no
                column for key or text, or what is given is no document: the
                message has its place and key, and what came before is stored.
            NotFound: Duplicates are asked for, and the store keeps nothing to
                verify them by.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import Observer, ingest_documents
        from simstore.services.ingest.options import ingest_choice, watched
        from simstore.sources.frames import documents_of

        reading, chosen = ingest_choice("add_many", read, options, keywords)
        with watched(observer or Observer(), progress=progress) as hears:
            return ingest_documents(self._opened, documents_of(documents, reading), chosen, hears)

    def ingest(
        self,
        names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
        progress: bool = False,
        **keywords: Unpack[IngestFilesKeywords],
    ) -> IngestSummary:
        """Ingest files, folders, patterns or standard input.

        >>> Path("soup.txt").write_text("Boil the bones for two hours.")
        29
        >>> store.ingest("soup.txt").added
        1
        >>> store.ingest([Path("soup.txt")], collection="recipes").updated
        1

        Args:
            names: A path or several: of files, of folders (all files below them
                that have a known ending), or patterns such as ``*.jsonl``;
                ``-`` is standard input. The key of a file is its path as it
                is given, so ``notes/a.txt`` and ``/home/me/notes/a.txt`` are
                two documents.
            read: How to read them, as an object; keywords go before it.
            options: How to ingest, as an object; keywords go before it.
            observer: Hears of what happens.
            progress: Show how far it is, in a terminal.

        Keyword Args:
            format: Name of a reader, as ``jsonl``, ``csv`` or ``text``;
                ``auto``: by content, then by name.
            encoding: Encoding of the files; ``auto``: it is recognised.
            key_field: Field of records that holds the key; and ``text_field``
                that of the text.
            from_start: Read from their start the sources that could be read on,
                too.
            on_duplicate: As for :meth:`add_many`, and so ``min_resemblance``
                (0.8), ``radius``, ``channels``, ``short_texts``,
                ``collection``, ``strict``, ``refresh``, ``threads`` and
                ``batch_documents``.

        Returns:
            As :meth:`add_many`; ``interrupted`` where the observer stopped it.

        Raises:
            SourceNotFound: A name means nothing; then nothing is ingested.
            MalformedRecord: ``strict`` and a record cannot be used.
        """
        self._check_takes_documents()
        from simstore.services.ingest.ingest import Observer, ingest_sources
        from simstore.services.ingest.options import ingest_choice, watched

        reading, chosen = ingest_choice("ingest", read, options, keywords)
        sources, passed_over = open_sources(names_of(names), self._read_options(reading))
        with watched(observer or Observer(), progress=progress) as hears:
            return ingest_sources(
                self._opened, sources, chosen, hears, passed_over=len(passed_over)
            )

    def remove(
        self,
        *keys: str | Iterable[str],
        missing_ok: bool = False,
        refresh: bool = True,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
        on_orphan: Callable[[str], None] | None = None,
        on_unflagged: Callable[[str], None] | None = None,
    ) -> int:
        """Remove documents; return how many there were.

        They are removed in batches that are durable one by one.

        >>> store.remove("ferry-2026")
        1
        >>> store.remove(["ferry-2026", "ferry-2027"], missing_ok=True)
        0

        Args:
            keys: Keys, or lists of them; a repeated one counts once.
            missing_ok: Ignore keys that are not there.
            refresh: Refresh a live store at the end.
            on_progress: Called with keys done and in all.
            on_refresh: Called with documents refreshed and in all.
            on_orphan: Called with each key that was skipped as a duplicate of
                one that is removed.
            on_unflagged: Called with each key that stays, and was flagged as a
                duplicate of one that is removed: it is an original now.

        Returns:
            How many documents are gone.

        Raises:
            DocumentNotFound: A key is not there; then nothing is removed.
        """
        from simstore.services.removal.remove import remove_documents

        return remove_documents(
            self._opened,
            keys_of(keys),
            missing_ok=missing_ok,
            refresh_after=refresh,
            on_progress=on_progress,
            on_refresh=on_refresh,
            on_orphan=on_orphan,
            on_unflagged=on_unflagged,
        )

    def expire(
        self,
        not_seen_since: TimeOrAge,
        *,
        dry_run: bool = False,
        refresh: bool = True,
        batch_documents: int | None = None,
        on_progress: Progress | None = None,
        on_refresh: Progress | None = None,
        **wanted: Unpack[DocumentFilterKeywords],
    ) -> ExpireSummary:
        """Remove documents that were not seen since a time.

        They are removed in batches that are durable one by one.

        >>> store.expire("90d", dry_run=True).removed
        0
        >>> from datetime import datetime, timedelta
        >>> store.expire(timedelta(days=90)).removed
        0
        >>> store.expire(datetime(2020, 5, 1)).removed
        0

        Args:
            not_seen_since: Remove what was last seen before this time: a
                datetime or date, ISO 8601 as ``2026-05-01`` (UTC without a
                zone), or seconds since 1970; or what was not seen for so long:
                a timedelta, or ``90d``, ``30 days``, ``2w`` or ``12h``.
            dry_run: Only count.
            refresh: Refresh a live store at the end.
            batch_documents: Most documents a transaction; None: 8,000.
            on_progress: Called with documents done and in all.
            on_refresh: Called with documents refreshed and in all.

        Keyword Args:
            collection: Only documents of this collection.

        Returns:
            How many documents were removed, or would be, and the time they were
            last seen before.

        Raises:
            InvalidParameter: The time is none.
        """
        from simstore.services.removal.expire import expire_documents
        from simstore.services.removal.remove import BATCH_DOCUMENTS

        chosen = with_keywords("expire", DocumentFilter, None, wanted)
        return expire_documents(
            self._opened,
            not_seen_since,
            wanted=chosen,
            dry_run=dry_run,
            refresh_after=refresh,
            batch_documents=BATCH_DOCUMENTS if batch_documents is None else batch_documents,
            on_progress=on_progress,
            on_refresh=on_refresh,
        )


def outcome_of(summary: IngestSummary) -> Outcome:
    """Return the outcome of the only document of a run."""
    if summary.added:
        return "added"
    if summary.updated:
        return "updated"
    return "flagged" if summary.flagged else "skipped" if summary.skipped else "unchanged"
