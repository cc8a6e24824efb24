"""The compiled kernels give what the NumPy forms give, and both what a plain loop gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simstore import compiled
from simstore.fingerprint import simhash
from simstore.fingerprint.characters import CharacterSketching
from simstore.fingerprint.packed_terms import PackedTerms, first_code_points, packed, term_hashes
from simstore.fingerprint.simhash import fingerprints, to_integers
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.sketching import Sketching
from simstore.fingerprint.web import WebScheme
from simstore.text import forms, scanning
from simstore.text.characters import CHARACTER, class_table
from simstore.text.disguises import fold_disguises
from simstore.text.normalization import FOLDED, Normalization
from simstore.text.recipes import FeatureRecipe
from simstore.text.scan_kernels import Cut
from simstore.text.scanning import joined, scan_texts, texts_to_fold
from simstore.text.tokens import tokens
from simstore.text.words import terms

from .strategies import any_text, usual_bits

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")

# Letters of all kinds of change: case, width, composition, expansion, marks, invisible ones.
mixed_text = st.text(
    "abzXYZ019 ,.-\n\x00éÉßİıſﬁ①㍿漢字カナｶﾞｱ한글각ᄀ\u0301\u00ad\u200b\u200d😀𠀀ﷺα´¨ไท軟體",
    max_size=60,
)
# Disguises of all kinds, and what they are not.
disguised_text = st.lists(
    st.sampled_from(
        [*"abe &;.7字体軟ไé\n", "zp", "  ", "   ", "-\n", "\u00ad\n", "&amp;", "&#233;",
         *"\u200b\u3164\u2062\U000e0041\u202e\u0435\u043e\u043f\u03bf\u03c0\u0336\u0301\u0309"]
    ),
    max_size=40,
).map("".join)  # fmt: skip
word_text = st.text("abcdefgHIJKL01 é", max_size=80)
kernel_texts = st.lists(st.one_of(any_text, mixed_text, word_text, disguised_text), max_size=5)
normalizations = st.builds(
    Normalization,
    st.sampled_from(["fold", "keep"]),
    st.sampled_from(["fold", "keep"]),
    st.sampled_from(["keep", "strip"]),
    st.sampled_from(["keep", "characters"]),
    st.sampled_from(["keep", "fold"]),
)


@pytest.fixture(autouse=True)
def _default_kernels() -> Iterator[None]:
    yield
    compiled.enable()


def both(make: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what is made without the compiled forms, and with them."""
    compiled.disable()
    plain = make()
    compiled.enable(0)
    return plain, make()


@st.composite
def weighted_features(draw: st.DrawFn) -> tuple[list[list[tuple[int, int]]], list[list[int]]]:
    """Return (row, weight) of each feature of each document, and the signs of each row."""
    bits = draw(usual_bits)
    generator = draw(st.randoms(use_true_random=False))
    signs = [
        [generator.choice((-1, 1)) for _ in range(bits)] for _ in range(draw(st.integers(1, 6)))
    ]
    weight = st.one_of(st.integers(1, 5), st.integers(1, 2**26), st.integers(1, 2**45))
    entry = st.tuples(st.integers(0, len(signs) - 1), weight)
    return draw(st.lists(st.lists(entry, max_size=6), max_size=5)), signs


def by_plain_loop(
    documents: list[list[tuple[int, int]]], signs: list[list[int]], tie: int
) -> list[int]:
    made = []
    for entries in documents:
        value = 0
        for bit in range(len(signs[0])):
            total = sum(weight * signs[row][bit] for row, weight in entries)
            value = 2 * value + (1 if total > 0 or (total == 0 and tie) else 0)
        made.append(value)
    return made


def rows_of(documents: list[list[tuple[int, int]]]) -> tuple[Any, Any, Any]:
    entries = [entry for document in documents for entry in document]
    return (
        np.cumsum([0, *map(len, documents)]).astype(np.int64),
        np.array([row for row, _ in entries], np.int64),
        np.array([weight for _, weight in entries], np.int64),
    )


def by_hashes(
    documents: list[list[tuple[int, int]]], signs: list[list[int]], tie: int
) -> list[int]:
    bits = len(signs[0])
    width = 64 if bits <= 64 else 128
    rows = [sum((s > 0) << (width - 1 - bit) for bit, s in enumerate(row)) for row in signs]
    hashes = simhash.to_words(rows, width)
    made = fingerprints(*rows_of(documents), hashes, bits, tie)
    assert made.dtype == np.uint64
    assert made.shape == (len(documents), (bits + 63) // 64)
    return to_integers(made)


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=needs_numba)])
@given(case=weighted_features(), tie=st.sampled_from([0, 1]))
def test_each_form_equals_a_plain_loop(
    fast: bool, case: tuple[list[list[tuple[int, int]]], list[list[int]]], tie: int
) -> None:
    compiled.enable(0) if fast else compiled.disable()
    documents, signs = case
    assert by_hashes(documents, signs, tie) == by_plain_loop(documents, signs, tie)


def counted(counts: Any) -> list[dict[bytes, int]]:
    assert len(set(counts.terms)) == len(counts.terms)
    found = []
    for row in range(len(counts)):
        columns, amounts = counts.row(row)
        assert columns.tolist() == sorted(set(columns.tolist()))
        found.append(
            {counts.terms[c]: n for c, n in zip(columns.tolist(), amounts.tolist(), strict=True)}
        )
    return found


@pytest.mark.slow
@needs_numba
@given(kernel_texts, usual_bits, normalizations, st.sampled_from(["log-tf", "tf"]))
def test_schemes_give_the_same_compiled_or_not(
    texts: list[str], bits: int, normalization: Normalization, weights: str
) -> None:
    def make() -> Any:
        recipe = FeatureRecipe(normalization)
        stopwords = frozenset([b"the", "漢字".encode(), b"a"])
        web = WebScheme(bits, recipe=recipe, weights=weights, stopwords=stopwords)
        simtool = SimtoolScheme(20, bits, stopwords=frozenset([b"a"]))
        plain_texts = [text.encode("utf-8", "replace").decode() for text in texts]
        letters = simtool.count(plain_texts)
        ranks = np.arange(len(letters.terms), dtype=np.int64) % 21 - 1
        features = web.count(texts)
        return (
            counted(features),
            features.token_counts().tolist(),
            to_integers(web.fingerprints(features)),
            tuple(letters.terms),
            counted(letters),
            to_integers(simtool.fingerprints(letters, ranks)),
        )

    plain, fast = both(make)
    assert plain == fast


@pytest.mark.slow
@needs_numba
@given(
    kernel_texts,
    st.one_of(usual_bits, st.integers(1, 64)),
    normalizations,
    st.sampled_from(["log-tf", "tf", "uniform"]),
    st.sampled_from(["zero", "one"]),
)
@example(["㍿" * 300 + " ab漢" * 20, "", "。", "漢", "漢字 漢字", "ab ab", "𠀀𠀁", "!?"], 64,
         Normalization(), "log-tf", "zero")  # fmt: skip
@example(["字典" * n + " 一" * n + "ab" for n in range(9)], 64, FOLDED, "log-tf", "zero")
def test_fingerprints_without_counts_are_those_of_counts(
    texts: list[str], bits: int, normalization: Normalization, weights: str, tie: str
) -> None:
    scheme = WebScheme(bits, recipe=FeatureRecipe(normalization), weights=weights, tie=tie)
    compiled.disable()
    counts = scheme.count(texts)
    expected = (
        to_integers(scheme.fingerprints(counts)), scheme.token_counts(counts).tolist(),
    )  # fmt: skip
    for enable in (compiled.disable, lambda: compiled.enable(0)):
        enable()
        made, sizes = scheme.fingerprinted(texts)
        assert made.dtype == np.uint64
        assert (to_integers(made), sizes.tolist()) == expected


@needs_numba
@pytest.mark.parametrize("weights", ["log-tf", "tf"])
def test_counts_beyond_the_cap_weigh_the_same_compiled_or_not(weights: str) -> None:
    # The second word outweighs the first where counts are not capped.
    text = "ab " * 65_530 + "cd " * 65_545 + "漢字" * 40_000
    scheme = WebScheme(64, weights=weights)
    plain, fast = both(lambda: [array.tolist() for array in scheme.fingerprinted([text, "cd"])])
    assert plain == fast


@needs_numba
@given(mixed_text)
def test_keys_are_the_features_of_characters_at_each_place(text: str) -> None:
    together = scan_texts([text], Normalization(), Cut())
    apart = scan_texts([text], Normalization(), Cut(apart=True))
    keys = [key.to_bytes(8, "little").rstrip(b"\0") for key in apart.keys.tolist()]
    assert apart.key_offsets.tolist() == [0, len(keys)]
    assert sorted([*keys, *cut_by(apart)[0]]) == sorted(cut_by(together)[0])
    assert not together.keys.size
    kinds = [class_table()[first_code_points(part)] for part in (keys, cut_by(apart)[0])]
    assert (kinds[0] == CHARACTER).all()
    assert (kinds[1] != CHARACTER).all()


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize("kind", [Sketching, CharacterSketching])
@given(kernel_texts, normalizations, st.integers(1, 6))
def test_shingle_sets_and_sketches_are_the_same_compiled_or_not(
    kind: type[Sketching], texts: list[str], normalization: Normalization, shingle: int
) -> None:
    sketching = kind(normalization, shingle)

    def make() -> Any:
        sets = sketching.sets(texts)
        sizes, made = sketching.sketched(texts)
        again = sketching.sets_and_sketches(texts)
        assert (again[0].hashes.tolist(), again[1].tolist()) == (
            sets.hashes.tolist(),
            made.tolist(),
        )
        return (
            sets.offsets.tolist(), sets.hashes.tolist(), sizes.tolist(), made.tolist(), made.dtype,
        )  # fmt: skip

    plain, fast = both(make)
    assert plain == fast


def cut_by(scanned: scanning.Scanned) -> list[list[bytes]]:
    names = tuple(PackedTerms.of_scanned(scanned))
    places = scanned.offsets.tolist()
    return [
        [names[number] for number in scanned.numbers[first:end].tolist()]
        for first, end in pairwise(places)
    ]


def utf8(words: list[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogatepass") for word in words]


@pytest.mark.slow
@needs_numba
@given(kernel_texts, normalizations)
def test_scanner_cuts_as_the_plain_functions_do_where_there_are_letters(
    texts: list[str], normalization: Normalization
) -> None:
    pairs = cut_by(scan_texts(texts, normalization, Cut()))
    single = cut_by(scan_texts(texts, normalization, Cut(pairs=False)))
    for text, found, alone in zip(texts, pairs, single, strict=True):
        if found:
            assert found == utf8(terms(text, normalization))
            assert alone == utf8(tokens(normalization.apply(text)))


# What disguises are made of, and what stands between them; the long one is passed in one step.
disguise_parts = st.sampled_from(
    ["a", "b", "x,", "--", "no", "word", "Word", "7", "_", "é", "é,", "字", "ก", "а", "ж",
     " ", " ", " ", "  ", "\n", "\r\n", "\t", "\u2009", "\u3000", "\x01", "-", "-\n", "-\r\n ",
     "\u2010\n", "&", "&amp;", "&#65;", ";", "many plain words, " * 40]
)  # fmt: skip


@needs_numba
@settings(max_examples=300)
@given(st.lists(st.lists(disguise_parts, max_size=24).map("".join), max_size=3))
def test_texts_that_are_not_to_be_folded_have_no_disguises_of_any_make(texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    chosen = set(texts_to_fold(*joined(encoded)).tolist())
    for place, text in enumerate(texts):
        if place not in chosen:
            assert fold_disguises(text).text == text


@needs_numba
@given(st.integers(1, 3), st.sampled_from(["é", "漢", ""]))
def test_scanner_numbers_more_terms_than_its_first_tables_hold(seed: int, letter: str) -> None:
    words = [f"{letter}{n * seed:x}{'long' * (n % 9)}" for n in range(6000)]
    texts = [" ".join(words), " ".join(reversed(words)), "漢".join(words)]
    found = cut_by(scan_texts(texts, Normalization(), Cut()))
    assert found == [utf8(terms(text)) for text in texts]


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize(
    ("normalization", "around"),
    [
        (Normalization(), "각{}か"),
        (Normalization("keep", "keep"), "a{}b"),
        (Normalization(accents="strip"), "é{}한"),
        (FOLDED, "a{}b"),
        (FOLDED, "각{}か"),
    ],
    ids=["fold", "keep", "strip", "disguises, Latin", "disguises, Hangul"],
)
def test_form_tables_tell_what_each_character_becomes_beside_others(
    normalization: Normalization, around: str
) -> None:
    tables = forms.form_tables(normalization)
    offsets = tables.offsets.tolist()
    expansions = [
        "".join(map(chr, tables.points[first:end].tolist())) for first, end in pairwise(offsets)
    ]

    def form_of(point: int, form: int) -> str:
        if form >= 0:
            return chr(form)
        return "" if form == forms.DROPPED else expansions[-3 - form]

    judged = [
        (chr(point), form_of(point, form))
        for point, form in enumerate(tables.forms.tolist())
        if form != forms.DEPENDS and chr(point) != "\n"
    ]
    assert len(judged) > 0x110000 - 1500
    made = normalization.form("\n".join(around.format(c) for c, _ in judged)).split("\n")
    first, last = (normalization.form(part) for part in around.split("{}"))
    assert made == [first + form + last for _, form in judged]


@needs_numba
@given(st.lists(st.one_of(st.binary(min_size=1, max_size=40), mixed_text.map(str.encode))))
def test_hashes_of_terms_are_those_of_the_library(given_: list[bytes]) -> None:
    found = [term for term in given_ if term]
    padded = [term.ljust(-(-len(term) // 8) * 8, b"\0") for term in found]
    starts = np.cumsum([0, *(len(term) // 8 for term in padded)])[:-1].astype(np.int64)
    chunks = np.frombuffer(b"".join(padded), np.uint64).copy()
    made = PackedTerms(chunks, starts, np.array([*map(len, found)], np.int64))
    assert term_hashes(made).tolist() == [xxhash.xxh3_64_intdigest(term) for term in found]
    assert term_hashes(tuple(found)).tolist() == term_hashes(made).tolist()
    assert made == tuple(found)
    assert made[1:3] == tuple(found[1:3])
    joined, offsets = packed(made)
    assert [joined[a:b] for a, b in pairwise(offsets)] == found
    assert made.places_of(found[:2]).tolist() == [term in found[:2] for term in found]


@given(st.lists(st.text(min_size=1, max_size=3), max_size=5))
def test_first_code_points_of_terms(words: list[str]) -> None:
    made = tuple(word.encode("utf-8", "surrogatepass") for word in words)
    assert first_code_points(made).tolist() == [ord(word[0]) for word in words]
    if find_spec("numba") is not None:
        scanned = scan_texts(words, Normalization(), Cut())
        terms_ = PackedTerms.of_scanned(scanned)
        assert first_code_points(terms_).tolist() == [
            ord(term.decode("utf-8", "surrogatepass")[0]) for term in terms_
        ]
