"""``Client`` methods that add documents, or ingest files, through a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack, cast

from simstore.client.connection import HttpConnection
from simstore.client.uploads import COUNTS, MOST_DOCUMENTS, UploadOutcome, in_collection, parts_of
from simstore.errors import MalformedRecord
from simstore.model import (
    Document,
    DocumentKeywords,
    IngestSummary,
    OnDuplicate,
    Outcome,
    Rejection,
)
from simstore.services.ingest.source_batches import batches_of_sources
from simstore.sources.documents import DocumentsGiven, document_with
from simstore.sources.files import names_of, open_sources
from simstore.sources.frames import documents_of
from simstore.sources.reader import ReadOptions, sees_bytes
from simstore.sources.source import read_so_far

if TYPE_CHECKING:
    from simstore.services.ingest.options import IngestFilesKeywords, IngestOptions, Observer


class IngestRequests(HttpConnection, of="Client"):
    """``Client`` methods that add documents and ingest files."""

    def add(
        self,
        key: str,
        text: str,
        *,
        on_duplicate: OnDuplicate | None = None,
        min_resemblance: float | None = None,
        radius: int | None = None,
        channels: Sequence[str] = (),
        short_texts: bool = False,
        **said: Unpack[DocumentKeywords],
    ) -> Outcome:
        """Add a document, or update the one with this key.

        As :meth:`simstore.Store.add`.
        """
        from simstore.services.ingest.options import IngestOptions, Observer

        document = document_with("Client.add", key, text, said)
        options = IngestOptions(
            on_duplicate=on_duplicate,
            min_resemblance=min_resemblance,
            radius=radius,
            channels=tuple(channels),
            short_texts=short_texts,
        )
        run = UploadOutcome(self, options, Observer())
        run.send(list(cast("Iterator[Document]", documents_of([document], None))))
        return cast("Outcome", next(name for name in COUNTS if run.counts[name]))

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
        """Add or update documents, in requests that are durable one by one.

        As :meth:`simstore.Store.add_many`; a request has at most 500 documents.
        What is rejected is counted and told of, and not kept by the server.
        """
        from simstore.services.ingest.options import Observer, ingest_choice, watched

        reading, chosen = ingest_choice("add_many", read, options, keywords)
        rejected: list[Rejection] = []
        with watched(observer or Observer(), progress=progress) as hears:
            run = UploadOutcome(self, chosen, hears)
            kept = _kept(documents_of(documents, reading), rejected, strict=chosen.strict)
            for part in parts_of(
                in_collection(kept, chosen.collection), min(chosen.batch_documents, MOST_DOCUMENTS)
            ):
                run.send(part)
                run.reject(rejected)
                rejected.clear()
                run.tell("", 0, None)
            run.reject(rejected)
        return run.summary()

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
        """Ingest files, folders, patterns or standard input, read here.

        As :meth:`simstore.Store.ingest`. The server does not see sources: it
        knows of no interruption, so each is read from its start, and what is
        stored already is unchanged; what is rejected it does not keep. What
        concerns a store alone (threads, transactions, refreshes) is the
        server's own.

        Raises:
            SourceNotFound: A name means nothing; then nothing is ingested.
            MalformedRecord: ``strict`` and a record cannot be used.
        """
        from simstore.services.ingest.options import Observer, ingest_choice, watched

        reading, chosen = ingest_choice("ingest", read, options, keywords)
        sources, _ = open_sources(names_of(names), self._read_options(reading))
        with watched(observer or Observer(), progress=progress) as hears:
            run = UploadOutcome(self, chosen, hears)
            batches = batches_of_sources(
                sources,
                lambda _source: None,
                MOST_DOCUMENTS,
                strict=chosen.strict,
                key=chosen.input_key,
            )
            for batch in batches:
                run.take(batch, chosen.collection)
                run.tell(next(iter(batch.marks), ""), *read_so_far(sources))
                if chosen.strict and batch.rejections:
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


def _kept(
    records: Iterable[Document | Rejection], rejected: list[Rejection], *, strict: bool
) -> Iterator[Document]:
    for record in records:
        if isinstance(record, Document):
            yield record
        elif strict:
            raise MalformedRecord(record.source, record.position, record.reason)
        else:
            rejected.append(record)
