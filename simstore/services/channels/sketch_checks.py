"""Check stored MinHash sketches against the texts, and packed LSH bands against the sketches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simstore.errors import counted
from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.sketching import sketch_bytes, sketch_texts, unpack_sketches
from simstore.index.bands import band_kind, sketch_entries
from simstore.index.pages import Entries
from simstore.model import Finding
from simstore.services.channels.pack_sketches import problems
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.index_pages import stored_index
from simstore.storage.sketches import SKETCHES
from simstore.text.decoding import exact_text

if TYPE_CHECKING:
    from simstore.services.channels.sketch_part import SketchPart

_REINDEX = "run `simstore reindex`"
_REINGEST = "ingest the sources into a new store: without texts nothing can be made anew"
_REPACK = "run `simstore compact`"
# Entries that are held at a time, about 64 bytes each.
_HELD_ENTRIES = 1 << 22


def check_sketches(
    snapshot: Snapshot, part: SketchPart, batches: Iterable[tuple[list[int], Mapping[int, bytes]]]
) -> Iterator[Finding]:
    """Yield the errors in the sketches of documents, and in the forms of titles beside them.

    Args:
        snapshot: The store in a read transaction.
        part: The channel's.
        batches: All documents, and the texts of those that keep one.
    """
    name = part.name
    sketches = SKETCHES[name]
    remedy = _remedy(snapshot)
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
        decoded = {number: exact_text(text) for number, text in texts.items()}
        made, forms = sketch_texts(sketching, list(decoded.values())), part.forms(snapshot, decoded)
        for document_id, sketch in zip(texts, made, strict=True):
            row, expected = rows.get(document_id), (*sketch, forms.get(document_id))
            if row is not None and (row.size, row.packed, row.forms) != expected:
                yield Finding("sketch", f"document {document_id}: not that of its text", remedy)
        for row in rows.values():
            size = sketch_bytes(sketching) if row.size else 0
            if len(row.packed) != size or len(row.forms or b"") % 8:
                yield Finding("sketch", f"document {row.document_id}: damaged", remedy)
    if held != seen:
        yield Finding(
            "sketch",
            f"{counted(held - seen, 'sketch', 'sketches')} of documents that are gone",
            remedy,
        )


def check_bands(snapshot: Snapshot, name: str) -> Iterator[Finding]:
    """Yield the errors in the index: it holds the entries that its sketches make, and no others.

    Those of some keys are compared at a time. Entries of sketches that are gone may be there:
    numbers are never given out again.
    """
    if name not in snapshot.channels.names:
        return
    layout = snapshot.channels.recipe(name).layout
    index = stored_index(snapshot.connection, band_kind(name, layout), snapshot.scheme_id)
    found = problems(index)
    yield from (Finding("bands", problem, _REPACK) for problem in found)
    if found or not index.runs:
        return
    remedy = _remedy(snapshot)
    wrong = strays = beyond = 0
    bits = (index.count // _HELD_ENTRIES).bit_length()
    for part in range(1 << bits):
        held = index.part(part, bits)
        beyond += int((held.values[:, 0] > index.last).sum())
        numbers, expected = _expected(snapshot, name, index.last, part, bits)
        own = held.values[:, 0].astype(np.int64)
        made = _codes(held.chosen(np.isin(own, numbers)), numbers)
        wanted = _codes(expected, numbers)
        wrong += len(np.setdiff1d(wanted, made))
        strays += len(np.setdiff1d(made, wanted))
    if wrong:
        yield Finding("bands", f"{counted(wrong, 'posting')} of sketches missing or wrong", remedy)
    if strays:
        yield Finding("bands", f"{counted(strays, 'posting')} in a page of another hash", remedy)
    if beyond:
        detail = f"{counted(beyond, 'posting')} of sketches that are said not to be packed"
        yield Finding("bands", detail, remedy)


def _remedy(snapshot: Snapshot) -> str:
    return _REINDEX if snapshot.settings.text_kept else _REINGEST


def _codes(entries: Entries, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return entries as numbers: the key, then the place of the sketch among all."""
    places = np.searchsorted(numbers, entries.values[:, 0].astype(np.int64))
    return entries.keys | places.astype(np.uint64)


def _expected(
    snapshot: Snapshot, name: str, last: int, part: int, bits: int
) -> tuple[NDArray[np.int64], Entries]:
    """Return the numbers of the packed sketches, and their entries whose keys begin with bits."""
    recipe = snapshot.channels.recipe(name)
    numbers, parts = [np.empty(0, np.int64)], [Entries.none(1)]
    for some, blobs, forms in SKETCHES[name].read_after(
        snapshot.connection, snapshot.scheme_id, 0, last
    ):
        # Others are reported as damaged.
        whole = [
            len(blob) == sketch_bytes(recipe.sketching) and not len(form or b"") % 8
            for blob, form in zip(blobs, forms, strict=True)
        ]
        own = some[np.array(whole, bool)]
        values = unpack_sketches(list(compress(blobs, whole)), recipe.sketching)
        hashes = band_values(values, recipe.layout)
        entries = sketch_entries(own, hashes, list(compress(forms, whole)))
        is_of_part = entries.keys >> np.uint64(64 - bits) == part if bits else slice(None)
        numbers.append(own)
        parts.append(Entries(entries.keys[is_of_part], entries.values[is_of_part]))
    return np.concatenate(numbers), Entries.joined(parts)
