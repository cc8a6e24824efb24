"""A text whose near-duplicates are sought, with its digest, fingerprint and sketch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.channels import DEFAULT_RECIPE
from simstore.fingerprint.simhash import to_words
from simstore.fingerprint.sketching import SketchRecipe, unpack_sketches
from simstore.services.features.prepare import PreparedBatch
from simstore.services.open_store.open_store import Snapshot
from simstore.storage import documents
from simstore.storage.fingerprints import fingerprints
from simstore.storage.sketches import SKETCHES


@dataclass(frozen=True, slots=True)
class CandidateText:
    """A text whose edges are sought.

    Attributes:
        digest: BLAKE2b-128 of the text.
        feature_count: Occurrences of features in it.
        words: Its fingerprint in the standing generation, shape (ceil(M / 64),); None: it has none.
        sketch: Its sketch, shape (values,); None where the store keeps none or it has no shingle.
        shingle_count: Distinct shingles; None where the store keeps no sketches.
        text: The text; None: it is that of the document.
        document_id: The document, when it is stored; it is no neighbour of itself.
    """

    digest: bytes
    feature_count: int
    words: NDArray[np.uint64] | None
    sketch: NDArray[Any] | None
    shingle_count: int | None
    text: str | None = None
    document_id: int | None = None

    @classmethod
    def of_batch(
        cls,
        batch: PreparedBatch,
        words: NDArray[np.uint64] | None,
        places: Iterable[int] | None = None,
        recipe: SketchRecipe = DEFAULT_RECIPE,
    ) -> list[CandidateText]:
        """Make candidate texts of documents of a batch.

        Args:
            batch: The batch.
            words: Fingerprints of all its documents in the standing generation; None: none has one.
            places: Which documents; None: all.
            recipe: Of their sketches.
        """
        chosen = list(range(len(batch.documents)) if places is None else places)
        held = batch.sketches.get(recipe.name, ())
        filled = [place for place in chosen if held and held[place][0]]
        made = unpack_sketches([held[place][1] for place in filled], recipe.sketching)
        sketch_of = dict(zip(filled, made, strict=True))
        return [
            cls(
                batch.digests[place],
                batch.token_counts[place],
                None if words is None else words[place],
                sketch_of.get(place),
                held[place][0] if held else None,
                batch.documents[place].text,
            )
            for place in chosen
        ]

    @classmethod
    def of_documents(
        cls,
        snapshot: Snapshot,
        document_ids: Sequence[int],
        recipe: SketchRecipe = DEFAULT_RECIPE,
    ) -> list[CandidateText]:
        """Make candidate texts of stored documents, in the order given, without missing ones."""
        connection = snapshot.connection
        facts = documents.sizes_of(connection, document_ids)
        values: dict[int, int] = {}
        if snapshot.generation is not None:
            number = snapshot.generation.generation_id
            values = fingerprints.of_documents(
                connection, snapshot.scheme.bits, number, document_ids
            )
        tables = SKETCHES[recipe.name]
        made = tables.of_documents(connection, snapshot.scheme_id, document_ids)
        filled = [number for number, row in made.items() if row.packed]
        unpacked = _unpacked(snapshot, [made[number].packed for number in filled], recipe)
        sketch_of = dict(zip(filled, unpacked, strict=True))
        found = []
        for number in document_ids:
            if number in facts:
                digest, features = facts[number]
                words = (
                    to_words([values[number]], snapshot.scheme.bits)[0]
                    if number in values
                    else None
                )
                size = made[number].size if number in made else None
                found.append(
                    cls(digest, features, words, sketch_of.get(number), size, None, number)
                )
        return found


def _unpacked(snapshot: Snapshot, packed: Sequence[bytes], recipe: SketchRecipe) -> NDArray[Any]:
    try:
        return unpack_sketches(packed, recipe.sketching)
    except ValueError as error:
        raise snapshot.corrupt(error) from error
