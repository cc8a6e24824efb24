"""Ingest documents over a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from simstore.client.connection import Connection
from simstore.client.uploads import COUNTS, MOST_DOCUMENTS, UploadOutcome, parts_of
from simstore.errors import MalformedRecord, NotServed
from simstore.model import (
    Document,
    IngestSummary,
    OnDuplicate,
    Outcome,
    Rejection,
    SqlRows,
)
from simstore.services.ingest.source_batches import batches_of_sources
from simstore.sources.documents import Addable
from simstore.sources.files import names_of, open_sources
from simstore.sources.frames import documents_of
from simstore.sources.reader import ReadOptions, sees_bytes
from simstore.sources.source import read_so_far

if TYPE_CHECKING:
    from simstore.services.ingest.ingest import IngestOptions, Observer


_MOST_DUPLICATES = 1_000
_MOST_REJECTS = 10_000


class IngestRequests(Connection):
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
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
    ) -> Outcome:
        """Add a document, or update the one with this key; as :meth:`simstore.Store.add`."""
        document = Document(
            key, text, title=title, collection=collection, metadata=metadata or {},
            seen_at=seen_at, published_at=published_at,
            links=(links,) if isinstance(links, str) else tuple(links),
        )  # fmt: skip
        run = UploadOutcome(self, on_duplicate, min_resemblance, radius)
        run.send(list(cast("Iterator[Document]", documents_of([document], None))))
        return cast("Outcome", next(name for name in COUNTS if run.counts[name]))

    def add_many(
        self,
        documents: Iterable[Addable],
        *,
        read: ReadOptions | None = None,
        batch_documents: int | None = None,
        observer: Observer | None = None,
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
    ) -> IngestSummary:
        """Add or update documents, in requests that are durable one by one.

        Args:
            documents: As for :meth:`simstore.Store.add_many`. Rows of a table that cannot be used
                are counted and told of, and not kept by the server.
            read: How records are read.
            batch_documents: Most documents a request, at most 500.
            observer: Hears of progress.
            on_duplicate: What is done with a document that duplicates a stored one.
            min_resemblance: As for :meth:`simstore.Store.add_many`, and so ``radius``.
            radius: As there.
        """
        run = UploadOutcome(self, on_duplicate, min_resemblance, radius, observer)
        most = min(batch_documents or MOST_DOCUMENTS, MOST_DOCUMENTS)
        rejected: list[Rejection] = []
        for part in parts_of(_kept(documents_of(documents, read), rejected), most):
            run.send(part)
            run.reject(rejected)
            rejected.clear()
            run.tell("", 0, None)
        run.reject(rejected)
        return run.summary()

    def ingest(
        self,
        names: str | os.PathLike[str] | Sequence[str] | SqlRows,
        *,
        read: ReadOptions | None = None,
        options: IngestOptions | None = None,
        observer: Observer | None = None,
    ) -> IngestSummary:
        """Ingest files, folders, patterns, or ``-`` for standard input, which are read here.

        The server does not see sources: it knows of no interruption, so each is read from its
        start, and what is stored already is unchanged; what is rejected it does not keep.

        Args:
            names: The sources.
            read: How to read them.
            options: How to ingest; what concerns a store alone (threads, transactions, refreshes)
                is the server's own.
            observer: Hears of progress.

        Raises:
            SourceNotFound: A name means nothing; then nothing is ingested.
            MalformedRecord: ``options.strict`` and a record cannot be used.
        """
        if isinstance(names, SqlRows):
            raise NotServed("rows of another database")
        sources, _ = open_sources(names_of(names), self._read_options(read))
        run = UploadOutcome(
            self,
            None if options is None else options.on_duplicate,
            None if options is None else options.min_resemblance,
            None if options is None else options.radius,
            observer,
        )
        strict = options is not None and options.strict
        collection = None if options is None else options.collection
        batches = batches_of_sources(sources, lambda _source: None, MOST_DOCUMENTS, strict=strict)
        for batch in batches:
            run.take(batch, collection)
            run.tell(next(iter(batch.marks), ""), *read_so_far(sources))
            if strict and batch.rejections:
                first = batch.rejections[0]
                raise MalformedRecord(first.source, first.position, first.reason)
            if run.should_stop():
                return replace(run.summary(), interrupted=True)
        return run.summary()

    def _read_options(self, given: ReadOptions | None) -> ReadOptions:
        """As a store does: against ``simtool``, text files are article files."""
        options = given or ReadOptions()
        if options.texts_are_articles:
            return options
        is_articles = sees_bytes(str(self._get("/v1/scheme").get("scheme", "")))
        return replace(options, texts_are_articles=True) if is_articles else options


def _kept(records: Iterable[Document | Rejection], rejected: list[Rejection]) -> Iterator[Document]:
    for record in records:
        if isinstance(record, Document):
            yield record
        else:
            rejected.append(record)
