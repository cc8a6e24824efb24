"""What is packed for the database comes back as it was."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.packed_terms import packed as packed_terms
from simstore.fingerprint.simhash import pack, to_hex, to_integers, to_words
from simstore.storage import codecs
from simstore.storage.fingerprints.tail import from_stored, to_stored
from simstore.text.decoding import decode, encode, well_formed

from .strategies import any_text, bits, fingerprints_of

feature_numbers = st.lists(st.integers(0, 2**32 - 1), unique=True, max_size=20).map(sorted)


@given(st.binary(max_size=300))
def test_texts_come_back(data: bytes) -> None:
    assert codecs.decompress(codecs.compress(data)) == data


@pytest.mark.parametrize("least", [1, 1 << 30])
@given(texts=st.lists(st.binary(max_size=300), max_size=5))
def test_texts_compressed_together_come_back(least: int, texts: list[bytes]) -> None:
    # Together only where the package zstandard is there, and there is something at all.
    held, codecs._LEAST_TOGETHER = codecs._LEAST_TOGETHER, least
    try:
        assert [codecs.decompress(one) for one in codecs.compress_many(texts)] == texts
    finally:
        codecs._LEAST_TOGETHER = held


@given(feature_numbers, st.data())
def test_feature_counts_come_back(numbers: list[int], data: st.DataObject) -> None:
    counts = data.draw(
        st.lists(st.integers(1, 2**32 - 1), min_size=len(numbers), max_size=len(numbers))
    )
    packed = codecs.pack_features(np.array(numbers, np.int64), np.array(counts, np.int64))
    back = codecs.unpack_features(packed)
    assert (back[0].tolist(), back[1].tolist()) == (numbers, counts)
    assert back[0].dtype == back[1].dtype == np.int64


@given(feature_numbers, st.data())
def test_vocabulary_deltas_come_back(numbers: list[int], data: st.DataObject) -> None:
    size = len(numbers)
    amounts = st.lists(st.integers(-(2**62), 2**62), min_size=size, max_size=size)
    rows = [numbers, data.draw(amounts), data.draw(amounts)]
    packed = codecs.pack_delta(*(np.array(row, np.int64) for row in rows))
    assert codecs.unpack_delta(packed).tolist() == rows


def unpacked(change: bytes) -> list[list[object]]:
    """Return terms, document counts and total counts of a packed change."""
    terms, ends, *counts = codecs.unpack_named_deltas([change])
    return [[terms[a:b] for a, b in pairwise(ends.tolist())], *(row.tolist() for row in counts)]


@given(st.lists(st.binary(max_size=40), unique=True, max_size=20), st.data())
def test_vocabulary_deltas_by_terms_come_back(terms: list[bytes], data: st.DataObject) -> None:
    size = len(terms)
    amounts = st.lists(st.integers(-(2**62), 2**62), min_size=size, max_size=size)
    rows = [data.draw(amounts), data.draw(amounts)]
    packed = codecs.pack_named_delta(
        *packed_terms(terms), *(np.array(row, np.int64) for row in rows)
    )
    assert codecs.names_terms(packed)
    assert unpacked(packed) == [terms, *rows]
    numbered = codecs.pack_delta(np.arange(size), *(np.array(row, np.int64) for row in rows))
    assert not codecs.names_terms(numbered)
    for damaged in (packed[:1], packed[:-1], packed[:1] + codecs.compress(bytes([9] * 40))):
        for others in ([damaged], [packed, damaged], [damaged, packed]):
            with pytest.raises(ValueError, match="damaged"):
                codecs.unpack_named_deltas(others)


@given(st.lists(st.lists(st.binary(max_size=9), unique=True, max_size=9), max_size=5), st.data())
def test_changes_come_back_together_as_one_by_one(
    changes: list[list[bytes]], data: st.DataObject
) -> None:
    packed = []
    for terms in changes:
        size = len(terms)
        amounts = st.lists(
            st.integers(-3, 300) | st.integers(-(2**62), 2**62), min_size=size, max_size=size
        )
        counts = (np.array(data.draw(amounts), np.int64) for _ in range(2))
        packed.append(codecs.pack_named_delta(*packed_terms(terms), *counts))
    terms, ends, documents, totals = codecs.unpack_named_deltas(packed)
    held = [terms[first:end] for first, end in pairwise(ends.tolist())]
    expected: list[list[object]] = [[], [], []]
    for one in packed:
        for row, some in zip(expected, unpacked(one), strict=True):
            row += some
    assert [held, documents.tolist(), totals.tolist()] == expected


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=60))
def test_damaged_blobs_are_a_value_error_or_another_value(data: bytes, damage: bytes) -> None:
    packed = codecs.compress(data)
    for blob in (b"", packed[:-1], damage, packed[:4] + damage):
        for unpack in (
            codecs.decompress,
            codecs.unpack_features,
            codecs.unpack_delta,
            lambda blob: codecs.unpack_named_deltas([blob]),
        ):
            try:
                unpack(blob)
            except ValueError:
                continue
    with pytest.raises(ValueError, match="damaged"):
        codecs.decompress(packed[:-1])


@given(bits, st.data())
def test_stored_fingerprints_come_back_and_keep_apart(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(fingerprints_of(width), min_size=2, max_size=8, unique=True))
    stored = [to_stored(value, width) for value in values]
    assert [from_stored(one) for one in stored] == values
    assert len(set(stored)) == len(values)
    for one in stored:
        if isinstance(one, int):
            assert width <= 64
            assert -(2**63) <= one < 2**63
        else:
            assert width > 64
            assert len(one) == 16


@given(bits, st.data())
def test_words_integers_bit_rows_and_hexadecimal_agree(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(fingerprints_of(width), max_size=5))
    words = to_words(values, width)
    assert words.shape == (len(values), (width + 63) // 64)
    assert to_integers(words) == values
    rows = [[digit == "1" for digit in f"{value:0{width}b}"] for value in values]
    assert to_integers(pack(np.array(rows, bool).reshape(len(values), width))) == values
    for value in values:
        assert int(to_hex(value, width), 16) == value
        assert len(to_hex(value, width)) == (width + 3) // 4


@given(st.binary(max_size=60))
def test_any_bytes_come_back_from_text(data: bytes) -> None:
    if not data.startswith(b"\xef\xbb\xbf"):
        assert encode(decode(data)) == data
    assert encode(decode(b"\xef\xbb\xbf" + data)) == data


@given(any_text)
def test_text_with_escaped_bytes_comes_back(text: str) -> None:
    assert encode(text).decode("utf-8", "surrogateescape").encode(
        "utf-8", "surrogateescape"
    ) == encode(text)


@given(st.text(st.characters(), max_size=20))
def test_well_formed_text_has_no_surrogates_and_is_else_the_same(text: str) -> None:
    made = well_formed(text)
    made.encode("utf-8")
    assert len(made) <= len(text)
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert made == text


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 255))
def test_damaged_frames_are_told_whatever_unpacks_them(data: bytes, place: int, value: int) -> None:
    """With the package zstandard and without it, the same data or the same refusal."""
    frame = bytearray(codecs.compress(data))
    frame[place % len(frame)] = value

    def unpacked() -> bytes | None:
        try:
            return codecs.decompress(bytes(frame))
        except ValueError:
            return None

    found = unpacked()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codecs, "_compresses_many", lambda: False)
        assert unpacked() == found
