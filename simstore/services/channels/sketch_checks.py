"""Check stored MinHash sketches against the texts, and packed LSH bands against the sketches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.errors import counted
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import sketch_bytes, sketch_texts, unpack_sketches
from simstore.model import Finding
from simstore.search.bands import band_start, checks, page_numbers, unpack_page
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.engine import Connection
from simstore.storage.sketches import SKETCHES, LayoutRow, SketchTables
from simstore.text.decoding import exact_text

_REINDEX = "run `simstore reindex`"
_REINGEST = "ingest the sources into a new store: without texts nothing can be made anew"
_REPACK = "run `simstore compact --bands {}`"
# Bytes of band hashes that are held at a time.
_HELD_BYTES = 256 << 20


def check_sketches(
    snapshot: Snapshot, name: str, batches: Iterable[tuple[list[int], Mapping[int, bytes]]]
) -> Iterator[Finding]:
    """Yield the errors in the sketches of documents.

    Args:
        snapshot: The store in a read transaction.
        name: The channel.
        batches: All documents, and the texts of those that keep one.
    """
    sketches = SKETCHES[name]
    remedy = _REINDEX if snapshot.settings.text_kept else _REINGEST
    held = sketches.count(snapshot.connection, snapshot.scheme_id)
    if name not in snapshot.channels.names:
        if held:
            yield Finding("sketch", f"{held} in a store without the channel {name}", remedy)
        return
    sketching = snapshot.channels.recipe(name).sketching
    seen = 0
    for batch, texts in batches:
        rows = sketches.of_documents(snapshot.connection, snapshot.scheme_id, batch)
        seen += len(rows)
        if len(rows) < len(batch):
            missing = counted(len(batch) - len(rows), "document has", "documents have")
            yield Finding("sketch", f"{missing} none", remedy)
        decoded = [exact_text(text) for text in texts.values()]
        made = sketch_texts(sketching, decoded)
        for document_id, expected in zip(texts, made, strict=True):
            row = rows.get(document_id)
            if row is not None and (row.size, row.packed) != expected:
                yield Finding("sketch", f"document {document_id}: not that of its text", remedy)
        for row in rows.values():
            if len(row.packed) != (sketch_bytes(sketching) if row.size else 0):
                yield Finding("sketch", f"document {row.document_id}: damaged", remedy)
    if held != seen:
        yield Finding(
            "sketch",
            f"{counted(held - seen, 'sketch', 'sketches')} of documents that are gone",
            remedy,
        )


def check_bands(snapshot: Snapshot, name: str) -> Iterator[Finding]:
    """Yield the errors in the packed bands: each packed sketch must be found by each of its bands.

    As many bands are held at a time as fit into 256 MB. Postings of sketches that are gone may be
    there: numbers are never given out again.
    """
    connection, sketches = snapshot.connection, SKETCHES[name]
    packed = sketches.layout(connection, snapshot.scheme_id)
    if packed is None or name not in snapshot.channels.names:
        return
    remedy = _REPACK.format(packed.layout)
    wrong = strays = beyond = 0
    together = max(_HELD_BYTES // (8 * max(packed.packed_count, 1)), 1)
    for first in range(0, packed.layout.bands, together):
        end = min(first + together, packed.layout.bands)
        numbers, hashes = _stored_bands(snapshot, name, packed, first, end)
        for place in range(first, end):
            expected = _expected(numbers, hashes[:, place - first], packed, place)
            held, damaged = _held(connection, sketches, packed, place)
            for page, problem in damaged:
                yield Finding("bands", f"page {page}: {problem}", remedy)
            beyond += int((held["number"] > packed.packed_to).sum())
            held = _sorted(held[np.isin(held["number"], numbers)])
            if not np.array_equal(held, _sorted(expected)):
                wrong += len(expected) - int(np.isin(expected, held).sum())
                strays += len(held) - int(np.isin(held, expected).sum())
    outside = sketches.pages_between(
        connection, packed.layout_id, band_start(packed.layout.bands), 1 << 62
    )
    for page, _ in outside:
        yield Finding("bands", f"page {page} is of no band", remedy)
    if wrong:
        yield Finding("bands", f"{counted(wrong, 'posting')} of sketches missing or wrong", remedy)
    if strays:
        yield Finding("bands", f"{counted(strays, 'posting')} in a page of another hash", remedy)
    if beyond:
        detail = f"{counted(beyond, 'posting')} of sketches that are said not to be packed"
        yield Finding("bands", detail, remedy)


_POSTING = np.dtype([("page", np.int64), ("number", np.int64), ("check", np.uint8)])


def _postings(
    pages: NDArray[np.int64], numbers: NDArray[np.int64], marks: NDArray[np.uint8]
) -> NDArray[np.void]:
    made = np.empty(len(numbers), _POSTING)
    made["page"], made["number"], made["check"] = pages, numbers, marks
    return made


def _sorted(postings: NDArray[np.void]) -> NDArray[np.void]:
    return postings[np.lexsort((postings["check"], postings["number"], postings["page"]))]


def _expected(
    numbers: NDArray[np.int64], hashes: NDArray[np.uint64], packed: LayoutRow, place: int
) -> NDArray[np.void]:
    """Return the postings of a band that the sketches call for."""
    pages = page_numbers(hashes[:, None], packed.key_bits)[:, 0] + band_start(place)
    return _postings(pages, numbers, checks(hashes))


def _held(
    connection: Connection, sketches: SketchTables, packed: LayoutRow, place: int
) -> tuple[NDArray[np.void], list[tuple[int, str]]]:
    """Return the postings of a band that are there, and what is wrong with which pages."""
    parts, damaged = [np.empty(0, _POSTING)], []
    pages = sketches.pages_between(
        connection, packed.layout_id, band_start(place), band_start(place + 1)
    )
    for page, blob in pages:
        try:
            marks, numbers = unpack_page(blob)
        except ValueError as error:
            damaged.append((page, str(error)))
            continue
        parts.append(_postings(np.full(len(numbers), page, np.int64), numbers, marks))
    return np.concatenate(parts), damaged


def _stored_bands(
    snapshot: Snapshot, name: str, packed: LayoutRow, first: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the numbers of the packed sketches, and their hashes of some bands."""
    sketching = snapshot.channels.recipe(name).sketching
    part = BandLayout(end - first, packed.layout.rows)
    columns = slice(first * part.rows, end * part.rows)
    numbers, hashes = [np.empty(0, np.int64)], [np.empty((0, part.bands), np.uint64)]
    for some, blobs in SKETCHES[name].read_after(
        snapshot.connection, snapshot.scheme_id, 0, packed.packed_to
    ):
        # Others are told of as damaged.
        whole = [len(blob) == sketch_bytes(sketching) for blob in blobs]
        good = [blob for blob, is_whole in zip(blobs, whole, strict=True) if is_whole]
        values = unpack_sketches(good, sketching)
        numbers.append(some[np.array(whole, bool)])
        hashes.append(band_values(values[:, columns], part))
    return np.concatenate(numbers), np.concatenate(hashes)
