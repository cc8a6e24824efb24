"""Choose the locks (on keys, texts, segments, bands) that let several processes write at once.

Two processes that decide of the same must take turns: of one key, of one text, of two texts that a
channel may find from each other. Fingerprints within the radius share a segment, where the radius
is smaller than the number of segments; sketches that agree share a band. So whoever claims its
keys, texts, segments and bands before it looks, sees all that it must see. What changes or removes
a stored text touches more than that, and is done alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simstore.errors import SimstoreError
from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import SketchRecipe, unpack_sketches
from simstore.model.channels import DROP_RESEMBLANCE
from simstore.search.plan import default_radius
from simstore.search.segments import segment_columns
from simstore.services.features.prepare import PreparedBatch, is_prepared_for
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.open_store.open_store import OpenStore, Snapshot
from simstore.services.open_store.state import State
from simstore.storage import documents
from simstore.storage.sketches import SKETCHES
from simstore.text.decoding import encode

# Odd, so that numbers stay apart when they are multiplied by it.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SEGMENTS, _BANDS = np.uint64(0x5345474D << 32), np.uint64(0x42414E44 << 32)

Prepared = Sequence[tuple[PreparedBatch, State]]


class NeedsExclusiveWriter(SimstoreError):
    """The claims of a writer do not cover its changes: it must be the only writer."""


def claims(
    opened: OpenStore,
    works: Prepared,
    sources: Iterable[str],
    seen: Iterable[str],
    check: DuplicateRule | None,
) -> list[int] | None:
    """Return the claims of batches; None: their writer has to be the only one.

    Args:
        opened: The store.
        works: The batches, and what stood when they were prepared.
        sources: The sources that they are of.
        seen: Keys of documents that are seen again, besides theirs.
        check: What is looked for before the insert; None: nothing is.
    """
    if not opened.database.allows_concurrent_writers:
        return None
    if not all(_adds_alone(prepared, state) for prepared, state in works):
        return None
    texts = {key for prepared, _ in works for key in _names(prepared)}
    claimed = {_number(b"source", encode(name)) for name in sources} | texts
    claimed.update(_number(b"key", encode(key)) for key in seen)
    if check is not None:
        layout = _layout(opened, works[0][1], check)
        for prepared, state in works:
            if check.measure(state).by_fingerprint:
                radius = default_radius(state.scheme.bits)
                if check.radius is not None:
                    radius = check.radius
                if radius >= _segment_count(state):
                    return None
                claimed.update(_of_segments(prepared, state.scheme.bits))
            if layout is not None:
                claimed.update(_of_bands(prepared, layout, check.measure(state).recipe))
    return sorted(claimed)


def verify(
    snapshot: Snapshot,
    works: Prepared,
    check: DuplicateRule | None,
) -> None:
    """Raise NeedsExclusiveWriter where the claims are too few; nothing was changed yet.

    Args:
        snapshot: The store in the writer's transaction.
        works: As for :func:`claims`.
        check: As for :func:`claims`.
    """
    digests: dict[bytes, bytes] = {}
    for prepared, prepared_with in works:
        if not is_prepared_for(prepared_with, snapshot):
            raise NeedsExclusiveWriter("the store has another scheme by now")
        for key, digest in zip(prepared.keys, prepared.digests, strict=True):
            if digests.setdefault(key, digest) != digest:
                raise NeedsExclusiveWriter("a key has two texts")
    if check is not None and _standing_layout(snapshot, check) != _layout(
        snapshot.store, works[0][1], check
    ):
        raise NeedsExclusiveWriter("the sketches are cut otherwise by now")
    for key, row in documents.by_keys(snapshot.connection, sorted(digests)).items():
        if row.digest != digests[key]:
            raise NeedsExclusiveWriter("a stored text changes")


def _adds_alone(prepared: PreparedBatch, state: State) -> bool:
    """Return whether a batch is stored by adding rows, each found by what is claimed."""
    return (
        not state.scheme.depends_on_corpus
        and not state.keeps_counts
        and not state.scheme.reads_metadata
        and state.passages is None
        and prepared.counts is None
        and (prepared.words is not None or not state.channels.has_fingerprints)
    )


def _names(prepared: PreparedBatch) -> Iterable[int]:
    for key, digest in zip(prepared.keys, prepared.digests, strict=True):
        yield _number(b"key", key)
        yield _number(b"text", digest)


def _number(kind: bytes, name: bytes) -> int:
    made = hashlib.blake2b(name, digest_size=8, person=kind).digest()
    return int.from_bytes(made, "big", signed=True)


def _segment_count(state: State) -> int:
    return -(-state.scheme.bits // 16)


def _of_segments(prepared: PreparedBatch, bits: int) -> list[int]:
    if prepared.words is None or not len(prepared.words):
        return []
    columns = segment_columns(prepared.words, bits).astype(np.uint64)
    numbers = columns + (np.arange(columns.shape[1], dtype=np.uint64) << np.uint64(16))
    return _signed((numbers + _SEGMENTS) * _FACTOR)


def _of_bands(prepared: PreparedBatch, layout: BandLayout, recipe: SketchRecipe) -> list[int]:
    filled = [packed for size, packed in prepared.sketches[recipe.name] if size]
    if not filled:
        return []
    bands = band_values(unpack_sketches(filled, recipe.sketching), layout)
    numbers = np.arange(bands.shape[1], dtype=np.uint64)
    return _signed((bands ^ (numbers + _BANDS) * _FACTOR) * _FACTOR)


def _signed(numbers: NDArray[np.uint64]) -> list[int]:
    found: list[int] = np.unique(numbers).view(np.int64).tolist()
    return found


def _layout(opened: OpenStore, state: State, check: DuplicateRule) -> BandLayout | None:
    """Return the band layout that the check will use, as far as is known before it."""
    if not _looks_by_bands(state, check):
        return None
    with opened.database.read() as connection:
        return _standing_layout(opened.snapshot(connection, state), check)


def _standing_layout(snapshot: Snapshot, check: DuplicateRule) -> BandLayout | None:
    if not _looks_by_bands(snapshot, check):
        return None
    recipe = check.measure(snapshot).recipe
    packed = SKETCHES[recipe.name].layout(snapshot.connection, snapshot.scheme_id)
    whole = packed.layout if packed else recipe.layout
    return whole.enough_for(check.least or DROP_RESEMBLANCE)


def _looks_by_bands(state: State, check: DuplicateRule) -> bool:
    return check.measure(state).by_sketches and check.radius is None
