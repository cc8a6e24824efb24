from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from simstore.errors import InvalidParameter
from simstore.fingerprint.imatch import agreements, in_lexicon, signatures

TERMS = [b"%d" % number for number in range(300)]


def lexicon(document_counts: list[int], documents: int, low: float, high: float) -> list[bool]:
    found = in_lexicon(np.array(document_counts, np.int64), documents, low, high)
    return [bool(kept) for kept in found]


def plain_signature(terms: list[bytes]) -> bytes:
    joined = b"".join(b"%d:%s" % (len(term), term) for term in sorted(terms))
    return hashlib.blake2b(joined, digest_size=16).digest()


def test_lexicon_holds_the_terms_within_the_band_of_idf() -> None:
    for band in ((0, 1), (0.2, 0.9), (0.5, 0.5), (0, 0), (1, 1)):
        for documents in (2, 3, 10, 1000, 10**6):
            low, high = band
            wanted = {0, 1, 2, 3, documents // 2, documents - 1, documents}
            counts = sorted(count for count in wanted if count <= documents)
            for count, found in zip(counts, lexicon(counts, documents, low, high), strict=True):
                if count == 0:
                    assert not found, (band, documents)
                    continue
                idf = math.log(documents / count) / math.log(documents)
                expected = low - 1e-9 <= idf <= high + 1e-9
                assert found == expected, (count, idf)


def test_a_collection_of_less_than_two_documents_is_refused() -> None:
    for documents in (0, 1):
        with pytest.raises(InvalidParameter, match="too few"):
            lexicon([1], documents, 0, 1)


def test_band_out_of_range_is_refused() -> None:
    for band in ((-0.1, 1), (0, 1.1), (0.6, 0.5), (float("nan"), 1), (0, float("nan"))):
        with pytest.raises(InvalidParameter, match="idf band"):
            lexicon([1], 10, *band)


def test_first_signature_is_the_digest_of_the_sorted_terms() -> None:
    assert signatures(TERMS, 0) == (plain_signature(TERMS),)
    assert signatures(TERMS[::-1], 3) == signatures(TERMS, 3)


def test_terms_are_kept_apart_in_the_digest() -> None:
    assert signatures([b"ab", b"c"], 0) != signatures([b"a", b"bc"], 0)
    assert signatures([b"a", b"b"], 0) != signatures([b"a1:b"], 0)


def test_signatures_stay_the_same_in_every_version() -> None:
    found = signatures([b"harbour", b"boat", "船".encode()], 2, seed=7)
    assert [None if one is None else one.hex() for one in found] == [
        "67fd4aa38b4c3470bcfa3e13299b2171",
        "79abeed35cc0d24f83aa5d7193dfcfcf",
        "12c314be0276f593c07ed6b52c687a55",
    ]


def left_out(terms: list[bytes], number: int, seed: int) -> set[bytes]:
    """Return the terms that a random lexicon is without: dropping them changes no signature."""
    whole = signatures(terms, number, seed)[number]
    return {
        term for term in terms
        if signatures([other for other in terms if other != term], number, seed)[number] == whole
    }  # fmt: skip


def test_a_random_lexicon_is_without_about_a_third_of_the_terms() -> None:
    for seed in (0, 1, 2**64 - 1):
        drawn = [left_out(TERMS, number, seed) for number in (1, 2)]
        for gone in drawn:
            assert 75 <= len(gone) <= 125, seed
            kept = [term for term in TERMS if term not in gone]
            assert plain_signature(kept) in signatures(TERMS, 2, seed), seed
        # Drawn apart, both are without about a ninth.
        assert 15 <= len(drawn[0] & drawn[1]) <= 55, seed


def test_seed_chooses_the_random_lexicons_and_not_the_first() -> None:
    one, other = signatures(TERMS, 5, 1), signatures(TERMS, 5, 2)
    assert one[0] == other[0]
    assert not set(one[1:]) & set(other[1:])


def test_random_lexicons_see_through_one_more_term() -> None:
    one, other = signatures(TERMS, 30), signatures([*TERMS, b"new"], 30)
    assert one[0] != other[0]
    # Each is without the new term with a chance of a third.
    assert 3 <= agreements(one, other) <= 18


def test_a_text_without_terms_agrees_with_none() -> None:
    assert signatures([], 2) == (None, None, None)
    assert agreements(signatures([], 2), signatures([], 2)) == 0
    assert agreements(signatures(TERMS, 2), signatures(TERMS, 2)) == 3
