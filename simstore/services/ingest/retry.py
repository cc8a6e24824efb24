"""Read rejected records again from their sources, and ingest those that are valid now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simstore.errors import NotFound, SourceNotFound, UnreadableSource
from simstore.model import Document, Ignored, IngestSummary, Rejection, SourceState
from simstore.services.ingest.ingest import (
    BATCH_DOCUMENTS,
    IngestOptions,
    Observer,
    ingest_batches,
)
from simstore.services.ingest.source_batches import Batch
from simstore.services.open_store.open_store import OpenStore
from simstore.sources.files import source_named
from simstore.sources.reader import ReadOptions
from simstore.sources.registry import FORMATS
from simstore.sources.source import Source
from simstore.storage import runs
from simstore.text.decoding import encode

_GONE = "it is not there any more, or no file by itself: ingest its source again"
_CHANGED = "its source has changed since: ingest it again"
_NOTHING = "no record begins there when it is read this way"


def retry_rejections(
    opened: OpenStore,
    reject_ids: Sequence[int],
    read: ReadOptions,
    options: IngestOptions,
    observer: Observer,
) -> IngestSummary:
    """Read rejected records again, and store those that can be used now.

    Of a source that could not be read beyond a record, all that follows is read. A record that
    cannot be used this time either stays, with the reason of this time; what cannot be read again
    is passed over and stays as it is.

    Args:
        opened: The store.
        reject_ids: Their numbers; none: all.
        read: How to read.
        options: How to ingest.
        observer: What hears of it.

    Raises:
        NotFound: A number is not there.
        MalformedRecord: ``options.strict`` and a record cannot be used.
    """
    states: dict[str, tuple[int, SourceState]] = {}
    with opened.database.read() as connection:
        kept = runs.rejections(connection)
        known = {one.reject_id for one in kept}
        for number in reject_ids:
            if number not in known:
                raise NotFound(
                    f"no reject has the number {number}; `simstore rejects list` shows them"
                )
        wanted = [
            one.rejection for one in kept if not reject_ids or one.reject_id in set(reject_ids)
        ]
        for name in {one.source for one in wanted}:
            state = runs.source_state(connection, encode(name))
            if state is not None:
                states[name] = state
    batches = _batches(wanted, states, read, strict=options.strict)
    source_ids = {name: number for name, (number, _) in states.items()}
    return ingest_batches(opened, batches, source_ids, options, observer)


def _batches(
    wanted: Sequence[Rejection],
    states: dict[str, tuple[int, SourceState]],
    read: ReadOptions,
    *,
    strict: bool,
) -> Iterator[Batch]:
    """Yield the records that stand where others were rejected; the places of those are settled."""
    batch = Batch()
    for one in sorted(wanted, key=lambda one: (one.source, one.position)):
        for record in _read_again(one, states.get(one.source), read):
            batch.append(record, one.source)
            if isinstance(record, Document):
                batch.settled.append((one.source, record.position or 0))
            if strict and isinstance(record, Rejection):
                yield batch
                return
            if batch.is_full(BATCH_DOCUMENTS):
                yield batch
                batch = Batch()
    if batch.record_count:
        yield batch


def _read_again(
    rejected: Rejection, known: tuple[int, SourceState] | None, read: ReadOptions
) -> Iterator[Document | Rejection | Ignored]:
    """Yield what stands where a record was rejected; why nothing does, where that is so."""
    name, position, offset = rejected.source, rejected.position, rejected.byte_offset
    reason = _GONE
    try:
        if known is not None:
            state = known[1]
            reader = state.reader.partition(" ")[0]
            if read.format == "auto" and reader in FORMATS:
                # As it was read when this was its place.
                read = replace(read, format=reader)
            source = source_named(name, read)
            if source is not None:
                reason = _CHANGED
                if _is_unchanged(source, state):
                    reason = _NOTHING
                    # Nothing comes after what could not be read beyond.
                    breaks_off = (state.position, state.byte_offset) == (position + 1, offset)
                    for record in source.records(position, offset):
                        reason = ""
                        yield record
                        if not breaks_off:
                            break
    except (UnreadableSource, SourceNotFound) as error:
        why = error.reason if isinstance(error, UnreadableSource) else _GONE
        yield Rejection(name, position, offset, offset, why, rejected.head)
        return
    if reason:
        yield Ignored(name, position, offset, offset, reason)


def _is_unchanged(source: Source, known: SourceState) -> bool:
    """Return whether what was read of a source is as it was; more may have come behind it."""
    now = source.state()
    # It may be read in another way now.
    known = replace(known, reader=now.reader)
    return known.is_same_content(now) or source.has_grown(known)
