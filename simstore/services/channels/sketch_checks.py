"""Check stored MinHash sketches against the texts, and packed LSH bands against the sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress

import numpy as np

from simstore.errors import counted
from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.sketching import sketch_bytes, sketch_texts, unpack_sketches
from simstore.index.bands import band_kind, sketch_entries
from simstore.index.sums import EntrySums, sums_of
from simstore.model import Finding
from simstore.services.channels.pack_sketches import problems
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.index_pages import stored_index
from simstore.storage.sketches import SKETCHES
from simstore.text.decoding import exact_text

# Returns the forms of titles of documents, by their texts.
FormsOf = Callable[[Snapshot, Mapping[int, str]], Mapping[int, bytes]]

_REINDEX = "run `simstore reindex`"
_REINGEST = "ingest the sources into a new store: without texts nothing can be made anew"
_REPACK = "run `simstore compact`"


def check_sketches(
    snapshot: Snapshot,
    name: str,
    forms_of: FormsOf,
    batches: Iterable[tuple[list[int], Mapping[int, bytes]]],
) -> Iterator[Finding]:
    """Yield the errors in the sketches of documents, and in the forms of titles beside them.

    Args:
        snapshot: The store in a read transaction.
        name: The channel.
        forms_of: Returns the forms of titles of documents, by their texts.
        batches: All documents, and the texts of those that keep one.
    """
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
        made, forms = sketch_texts(sketching, list(decoded.values())), forms_of(snapshot, decoded)
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

    Entries of sketches that are gone may be there: numbers are never given out again.
    """
    if name not in snapshot.channels.names:
        return
    recipe = snapshot.channels.recipe(name)
    index = stored_index(snapshot.connection, band_kind(name, recipe.layout), snapshot.scheme_id)
    found = problems(index)
    yield from (Finding("bands", problem, _REPACK) for problem in found)
    if found or not index.runs:
        return
    derived = EntrySums()
    for numbers, blobs, forms in SKETCHES[name].read_after(
        snapshot.connection, snapshot.scheme_id, 0, index.last
    ):
        # Others are reported as damaged.
        whole = [
            len(blob) == sketch_bytes(recipe.sketching) and not len(form or b"") % 8
            for blob, form in zip(blobs, forms, strict=True)
        ]
        values = unpack_sketches(list(compress(blobs, whole)), recipe.sketching)
        hashes = band_values(values, recipe.layout)
        own = numbers[np.array(whole, bool)]
        derived.add(sketch_entries(own, hashes, list(compress(forms, whole))))
    held = sums_of(index)
    wrong, beyond = len(held.differing(derived)), held.count_beyond(index.last)
    remedy = _remedy(snapshot)
    if wrong:
        detail = counted(wrong, "sketch has", "sketches have")
        yield Finding("bands", f"{detail} other postings than its bands", remedy)
    if beyond:
        detail = f"{counted(beyond, 'posting')} of sketches that are said not to be packed"
        yield Finding("bands", detail, remedy)


def _remedy(snapshot: Snapshot) -> str:
    return _REINDEX if snapshot.settings.text_kept else _REINGEST
