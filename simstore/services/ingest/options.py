"""The options of an ingest, and its callbacks for progress, findings and requests to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypedDict

from simstore.errors import (
    InvalidParameter,
)
from simstore.model import (
    Decoding,
    Duplicate,
    Ignored,
    IngestProgress,
    OnDuplicate,
    Outcome,
    Progress,
    Rejection,
    check_names,
    with_keywords,
)
from simstore.model.arguments import check_fields
from simstore.services.ingest.duplicate_checker import DuplicateRule, check_in
from simstore.sources.reader import ReadKeywords, ReadOptions
from simstore.storage.generations import StoreSettings

# Documents of a transaction: each page of an index that it changes is written once, however many
# rows it takes.
COMMIT_DOCUMENTS = 8_000


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Options of an ingest.

    >>> options = IngestOptions(on_duplicate="skip", min_resemblance=0.9)
    >>> store.add_many({"copy": text}, options=options).skipped
    1

    Attributes:
        collection: Collection of documents that name none.
        strict: Stop at the first record that cannot be used.
        refresh: Refresh a live store at the end.
        threads: Threads that prepare batches; None: as many as there are
            processors, at most 4.
        batch_documents: Most documents a transaction.
        on_duplicate: What is done with a document that duplicates one which is
            stored: ``keep`` stores it without looking; ``flag`` stores it and
            what it duplicates; ``skip`` stores only what it duplicates. None:
            as the store was made; ``keep`` unless it says otherwise.
        min_resemblance: Least resemblance of a duplicate to its original, above
            0, at most 1. Where neither it nor ``radius`` is given, both are as
            the store was made; 0.8 unless it says otherwise. None with a
            radius: any.
        from_start: Read from their start the sources that could be read on,
            too.
        radius: Largest distance of a duplicate's fingerprint to its original's,
            bits, inclusive; None: it does not count. Where a resemblance is
            given too, both have to hold.
        channels: By which originals are looked for: ``simhash``, ``minhash``,
            or ``characters`` alone, for scans and typed copies. Then the
            resemblance is that of runs of characters, 0.5 where none is given.
            None named: those of words that the store has.
        short_texts: With ``characters``, texts of at most 24 words (characters
            of Chinese) are duplicates too. Else such a text duplicates its like
            alone: "Chapter 1" is not "Chapter 2".
        input_key: Key of the text of standard input. None: ``-@`` and the
            digest of the text, so that another text does not take its place.
    """

    collection: str | None = None
    strict: bool = False
    refresh: bool = True
    threads: int | None = None
    batch_documents: int = COMMIT_DOCUMENTS
    on_duplicate: OnDuplicate | None = None
    min_resemblance: float | None = None
    from_start: bool = False
    radius: int | None = None
    channels: tuple[str, ...] = ()
    short_texts: bool = False
    input_key: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.threads is not None and self.threads < 1:
            raise InvalidParameter(f"{self.threads} threads: there must be at least 1")
        if self.batch_documents < 1:
            raise InvalidParameter(f"batches of {self.batch_documents}: there must be at least 1")
        DuplicateRule(
            self.on_duplicate or "keep",
            self.min_resemblance,
            self.radius,
            self.channels,
            self.short_texts,
        )

    def check_in(self, settings: StoreSettings) -> DuplicateRule | None:
        """Return the duplicate rule for documents; None: no check is made.

        Args:
            settings: Of the store.

        Raises:
            InvalidParameter: It is told what a duplicate is, and not what to do
                with one.
        """
        return check_in(
            settings,
            self.on_duplicate,
            self.min_resemblance,
            self.radius,
            self.channels,
            short_texts=self.short_texts,
        )


@lru_cache(maxsize=64, typed=True)
def options_of_one(
    refresh: bool,
    on_duplicate: OnDuplicate | None,
    min_resemblance: float | None,
    radius: int | None,
    channels: tuple[str, ...],
    short_texts: bool,
) -> IngestOptions:
    """Return the options of an add of one document, whose caller gives the same again and again.

    Arguments and errors are those of :class:`IngestOptions`.
    """
    return IngestOptions(
        refresh=refresh,
        on_duplicate=on_duplicate,
        min_resemblance=min_resemblance,
        radius=radius,
        channels=channels,
        short_texts=short_texts,
    )


class IngestKeywords(TypedDict, total=False):
    """The options of an ingest by name, as :class:`IngestOptions` describes them."""

    collection: str | None
    input_key: str | None
    strict: bool
    refresh: bool
    threads: int | None
    batch_documents: int
    on_duplicate: OnDuplicate | None
    min_resemblance: float | None
    from_start: bool
    radius: int | None
    channels: tuple[str, ...]
    short_texts: bool


class IngestFilesKeywords(IngestKeywords, ReadKeywords, total=False):
    """Options of reading and of ingesting, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """The callbacks of an ingest: progress, findings, and the request to stop.

    >>> observer = Observer(on_document=lambda *found: print(found))
    >>> store.add_many({"soup": "Boil the bones."}, observer=observer).added
    ('soup', 'added')
    1

    Attributes:
        on_progress: Called after each commit.
        on_reject: Called for each rejected record, after its commit.
        on_document: Called with the key of each document and what became of it.
        on_duplicate: Called with a key and the key of the earlier document with
            its content.
        on_refresh: Called while a live store is refreshed, with documents done
            and in all.
        should_stop: Asked before each batch; True stops at the batch's
            boundary.
        on_found: Called for each duplicate that a check before the insert
            found.
        on_pass_over: Called for each part of a source that is no document and
            shall be none.
        reading: Context in which sources are read and prepared; what it raises
            ends the run at what is committed.
        on_decoding: Called with the key of each document whose encoding was
            detected, or of whose bytes some could not be read.
        on_displaced: Called for each stored original that turned out to
            duplicate a document of the run, which comes before it by the rule
            of the original.
    """

    on_progress: Callable[[IngestProgress], None] = lambda _progress: None
    on_reject: Callable[[Rejection], None] = lambda _rejection: None
    on_document: Callable[[str, Outcome], None] = lambda _key, _outcome: None
    on_duplicate: Callable[[str, str], None] = lambda _key, _original: None
    on_refresh: Progress = lambda _done, _total: None
    should_stop: Callable[[], bool] = lambda: False
    on_found: Callable[[Duplicate], None] = lambda _duplicate: None
    on_pass_over: Callable[[Ignored], None] = lambda _part: None
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    on_decoding: Callable[[str, Decoding], None] = lambda _key, _decoding: None
    on_displaced: Callable[[Duplicate], None] = lambda _duplicate: None


def ingest_choice(
    verb: str,
    read: ReadOptions | None,
    options: IngestOptions | None,
    keywords: Mapping[str, Any],
) -> tuple[ReadOptions | None, IngestOptions]:
    """Return how to read and how to ingest, where keywords may be of either.

    Returns:
        How to read; None where neither an object nor a keyword tells it. How to ingest.

    Raises:
        TypeError: A keyword is of neither.
    """
    of_reading = {field.name for field in fields(ReadOptions)}
    check_names(verb, of_reading | {field.name for field in fields(IngestOptions)}, keywords)
    reading = {name: value for name, value in keywords.items() if name in of_reading}
    ingesting = {name: value for name, value in keywords.items() if name not in of_reading}
    if read is not None or reading:
        read = with_keywords(verb, ReadOptions, read, reading)
    return read, with_keywords(verb, IngestOptions, options, ingesting)


@contextmanager
def watched(observer: Observer, *, progress: bool) -> Iterator[Observer]:
    """Yield an observer that also shows the progress of an ingest, on request."""
    if not progress:
        yield observer
        return
    from simstore.reports.progress import shown_progress

    with shown_progress("ingest") as show:

        def told(now: IngestProgress) -> None:
            show(now.document_count, now.byte_count, now.total_bytes)
            observer.on_progress(now)

        yield replace(observer, on_progress=told)
