"""Compute each similarity measure of two texts, from equal digests and SimHash to cosine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint import counting_bloom, imatch, minhash
from simstore.fingerprint.characters import CharacterSketching
from simstore.fingerprint.shingle_sets import shingle_list
from simstore.fingerprint.simhash import to_hex, to_integers
from simstore.fingerprint.titles import is_one_word_apart, title_words
from simstore.fingerprint.weights import COUNT_PART, SCALE, idf_weights, integer_weights
from simstore.search import similarity
from simstore.search.hamming import distances
from simstore.search.resemblance import overlap
from simstore.services.compare.compared import CollectionCounts, CompareOptions, Prepared
from simstore.text.decoding import decode, text_digest

Value = float | int | bool | str | None
Answer = tuple[Mapping[str, Value], str]


def blake2b(made: Prepared) -> Answer:
    """Compare the digests that a store keeps of texts."""
    one, other = (text_digest(data) for data in made.data)
    return _digests(one.hex(), other.hex(), "BLAKE2b-128 of the texts in UTF-8")


def md5(made: Prepared) -> Answer:
    """Compare MD5 digests: the classic baseline, no protection against forgery."""
    one, other = (hashlib.md5(data, usedforsecurity=False) for data in made.data)
    return _digests(one.hexdigest(), other.hexdigest(), "MD5 of the texts in UTF-8")


def _digests(first: str, second: str, detail: str) -> Answer:
    return {"equal": first == second, "a": first, "b": second}, detail


def simhash(
    made: Prepared, options: CompareOptions, collection: CollectionCounts | None, bits: int
) -> Answer:
    """Compare fingerprints by their bits, and by their values as numbers."""
    words = options.scheme(bits).fingerprints(made.counts, _idf(options, collection))
    distance = int(distances(words[:1], words[1])[0])
    one, other = to_integers(words)
    values: dict[str, Value] = {
        "distance": distance,
        "similarity": 1 - distance / bits,
        "min_max_ratio": similarity.value_ratio(one, other),
        "a": to_hex(one, bits),
        "b": to_hex(other, bits),
    }
    detail = f"of {bits} bits; {options.features}, {options.weights}, {options.feature_hash}"
    return values, detail


def resemblance(made: Prepared, options: CompareOptions) -> Answer:
    """Compare the sets of shingles; None for both where neither text has a shingle."""
    detail = f"sets of {options.shingle} {options.units}, similar from {options.similar_at:g} on"
    if not made.sets.sizes().any():
        return {"jaccard": None, "dice": None, "dice_of_lists": None, "similar": None}, detail
    found = made.overlap().resemblance
    similar = found >= options.similar_at
    lists = (shingle_list(units, options.shingle) for units in made.units)
    values: dict[str, Value] = {
        "jaccard": found,
        "dice": similarity.dice(found),
        "dice_of_lists": similarity.dice_of_lists(*lists),
        "similar": similar,
    }
    return values, detail


def containment(made: Prepared) -> Answer:
    """Return the share of each text's shingles that the other has; None for a text without any."""
    found = made.overlap()
    sizes = made.sets.sizes()
    values = {
        "a_in_b": found.containment if sizes[0] else None,
        "b_in_a": found.containment_reverse if sizes[1] else None,
    }
    return values, "share of the one's shingles that the other has"


def minhash_estimate(made: Prepared) -> Answer:
    """Estimate the resemblance from the sketches; None where neither text has a shingle."""
    detail = f"{minhash.VALUES} values of the same shingles"
    sizes = made.sets.sizes()
    if not sizes.all():
        estimate = 0.0 if sizes.any() else None
        return {"estimate": estimate, "standard_error": estimate}, detail
    sketches = minhash.sketches(made.sets)
    estimate = float(minhash.estimates(sketches[:1], sketches[1])[0])
    error = math.sqrt(estimate * (1 - estimate) / minhash.VALUES)
    return {"estimate": estimate, "standard_error": error}, detail


def characters(made: Prepared, options: CompareOptions) -> Answer:
    """Compare as the channel ``characters`` does; None where neither text has a character."""
    form = options.form_of_words
    texts = [decode(data) for data in made.data]
    sketching = CharacterSketching(form)
    sets = sketching.sets(texts)
    found = overlap(sets.row(0), sets.row(1)).resemblance if sets.sizes().any() else None
    words = [title_words(text, form) for text in texts]
    values: dict[str, Value] = {
        "jaccard": found,
        # Of longer texts it is not asked.
        "one_word_apart": is_one_word_apart(*words) if all(words) else None,
    }
    detail = f"runs of {sketching.shingle} letters or {sketching.wide} Han, without blanks"
    return values, detail


def imatch_agreement(
    made: Prepared, options: CompareOptions, collection: CollectionCounts | None
) -> Answer:
    """Compare I-Match signatures; None where a text has no term of the lexicon."""
    if collection is None:
        counts = made.counts
        kept = np.ones(len(counts.terms), bool)
        detail = f"no store: all {options.features} of the texts are in the lexicon"
    else:
        counts = collection.counts
        low, high = options.idf_band
        kept = imatch.in_lexicon(collection.document_counts, collection.documents, low, high)
        detail = (
            f"terms of {collection.scheme} with normalized idf {low:g} to {high:g} "
            f"in {collection.documents:,} documents"
        )
    both = []
    for place in (0, 1):
        columns, _ = counts.row(place)
        terms = [counts.terms[column] for column in columns[kept[columns]].tolist()]
        both.append(imatch.signatures(terms, options.lexicons, options.seed))
    one, other = both
    equal = None if one[0] is None or other[0] is None else one[0] == other[0]
    values = {
        "equal": equal,
        "agreeing": imatch.agreements(one, other),
        "signatures": len(one),
        "a": None if one[0] is None else one[0].hex(),
        "b": None if other[0] is None else other[0].hex(),
    }
    return values, detail


def filter_overlap(made: Prepared, options: CompareOptions) -> Answer:
    """Compare counting Bloom filters; None where neither text has a feature."""
    counters = options.filter_counters or counting_bloom.roomy_size(len(made.counts.terms))
    filters = []
    for place in (0, 1):
        columns, counts = made.counts.row(place)
        terms = [made.counts.terms[column] for column in columns.tolist()]
        filters.append(
            counting_bloom.counting_filter(
                terms, counts, counters=counters, hashes=options.filter_hashes
            )
        )
    found = counting_bloom.filter_similarity(filters[0], filters[1])
    detail = f"{counters:,} counters, {options.filter_hashes} a feature"
    return {"similarity": found}, f"{detail}; {options.features}"


def cosine(made: Prepared, options: CompareOptions, collection: CollectionCounts | None) -> Answer:
    """Return the cosine of the angle of the vectors; None where neither text has a feature."""
    vectors = _vectors(made, options, collection)
    return {"cosine": similarity.cosine(*vectors)}, _of_vectors(options)


def euclid(made: Prepared, options: CompareOptions, collection: CollectionCounts | None) -> Answer:
    """Return the Euclidean distance of the vectors."""
    vectors = _vectors(made, options, collection)
    return {"distance": similarity.euclidean_distance(*vectors)}, _of_vectors(options)


def _vectors(
    made: Prepared, options: CompareOptions, collection: CollectionCounts | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    vectors = np.zeros((2, len(made.counts.terms)))
    of_counts = COUNT_PART.get(options.weights, options.weights)
    scale = SCALE if of_counts == "log-tf" else 1
    for place in (0, 1):
        columns, counts = made.counts.row(place)
        vectors[place, columns] = integer_weights(counts, of_counts) / scale
    idf = _idf(options, collection)
    if idf is not None:
        vectors *= idf / SCALE
    return vectors[0], vectors[1]


def _of_vectors(options: CompareOptions) -> str:
    return f"vectors of {options.features}, {options.weights}"


def _idf(options: CompareOptions, collection: CollectionCounts | None) -> NDArray[np.int64] | None:
    """Return the idf of each feature, in 1/1024; None where the weights need none."""
    if options.weights not in COUNT_PART:
        return None
    if collection is None:
        raise InvalidParameter(
            f"weights {options.weights}: a store must say how many documents have a feature; "
            "name one with --db that keeps a vocabulary of two documents or more"
        )
    if not collection.serves_weights:
        raise InvalidParameter(
            f"weights {options.weights}: the scheme {collection.scheme} of {collection.label} "
            "counts other features; choose its options here, or a store with these"
        )
    return idf_weights(collection.document_counts, collection.documents)
