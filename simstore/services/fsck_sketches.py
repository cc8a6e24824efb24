"""Check the second channel: sketches against the texts, packed bands against the sketches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import sketch_documents, unpack_sketches
from simstore.fingerprint.minhash import VALUES, band_values
from simstore.model import Finding
from simstore.search.bands import checks, page_numbers, unpack_page
from simstore.services.opened import State
from simstore.storage import sketches
from simstore.storage.engine import Connection
from simstore.storage.sketches import LayoutRow

_REINDEX = "run `simstore reindex`"
_REPACK = "run `simstore compact --bands {}`"
_SKETCH_BYTES = 2 * VALUES


def check_sketches(
    connection: Connection, state: State, batches: Iterable[tuple[list[int], Mapping[int, bytes]]]
) -> Iterator[Finding]:
    """Yield what is wrong with the sketches of documents.

    Args:
        connection: A snapshot.
        state: What stands in it.
        batches: All documents, and the texts of those that keep one.
    """
    held = sketches.count(connection, state.scheme_id)
    if not state.channels.minhash:
        if held:
            yield Finding("sketch", f"{held} in a store without the channel minhash", _REINDEX)
        return
    seen = 0
    for batch, texts in batches:
        rows = sketches.of_documents(connection, state.scheme_id, batch)
        seen += len(rows)
        if len(rows) < len(batch):
            yield Finding("sketch", f"{len(batch) - len(rows)} documents have none", _REINDEX)
        decoded = [text.decode("utf-8", "surrogateescape") for text in texts.values()]
        made = sketch_documents(state.channels.sketching.sets(decoded))
        for document_id, expected in zip(texts, made, strict=True):
            row = rows.get(document_id)
            if row is not None and (row.size, row.packed) != expected:
                yield Finding("sketch", f"document {document_id}: not that of its text", _REINDEX)
        for row in rows.values():
            if len(row.packed) != (_SKETCH_BYTES if row.size else 0):
                yield Finding("sketch", f"document {row.document_id}: damaged", _REINDEX)
    if held != seen:
        yield Finding("sketch", f"{held - seen} of documents that are gone", _REINDEX)


def check_bands(connection: Connection, state: State) -> Iterator[Finding]:
    """Yield what is wrong with the packed bands: each packed sketch is found by each of its bands.

    Postings of sketches that are gone may be there: numbers are never given out again.
    """
    packed = sketches.layout(connection, state.scheme_id)
    if packed is None or not state.channels.minhash:
        return
    remedy = _REPACK.format(packed.layout)
    numbers, bands = _stored(connection, state, packed)
    expected = page_numbers(bands, packed.key_bits)
    check_bits = checks(bands)
    present = set(numbers.tolist())
    postings: dict[int, dict[int, int]] = {}
    for page, blob in sketches.all_pages(connection, packed.layout_id):
        try:
            held_checks, held_numbers = unpack_page(blob)
        except ValueError as error:
            yield Finding("bands", f"page {page}: {error}", remedy)
            continue
        postings[page] = dict(zip(held_numbers.tolist(), held_checks.tolist(), strict=True))
    wrong = 0
    for row, number in enumerate(numbers.tolist()):
        for page, check in zip(expected[row].tolist(), check_bits[row].tolist(), strict=True):
            wrong += postings.get(page, {}).pop(number, None) != check
    if wrong:
        yield Finding("bands", f"{wrong} postings of sketches are missing or wrong", remedy)
    strays = sum(number in present for page in postings.values() for number in page)
    if strays:
        yield Finding("bands", f"{strays} postings are in a page that is not theirs", remedy)


def _stored(
    connection: Connection, state: State, packed: LayoutRow
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    numbers = [np.empty(0, np.int64)]
    bands = [np.empty((0, packed.layout.bands), np.uint64)]
    for some, blobs in sketches.read_after(connection, state.scheme_id, 0, packed.packed_to):
        try:
            made = band_values(unpack_sketches(blobs), packed.layout)
        except ValueError:
            continue  # told of as a damaged sketch
        numbers.append(some)
        bands.append(made)
    return np.concatenate(numbers), np.concatenate(bands)
