"""Two texts of any kind by every algorithm, against plain sets and counters."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.model import Comparison
from simstore.services.compare.compare import compare_texts
from simstore.services.compare.compared import CompareOptions
from simstore.text.normalization import DEFAULT
from simstore.text.tokens import tokens

from .strategies import any_text, texts

pairs = st.one_of(
    st.tuples(any_text, any_text),
    st.tuples(texts, texts),
    # One text within or after the other.
    st.tuples(any_text, any_text, any_text).map(lambda t: (t[0] + t[1], t[1] + t[2])),
    any_text.map(lambda text: (text, text)),
)


def values(found: Comparison) -> dict[str, dict[str, Any]]:
    return {one.algorithm: dict(one.values) for one in found.measurements}


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@given(pairs, st.sampled_from(["characters", "words"]), st.integers(1, 7), st.booleans())
def test_shingle_measures_are_those_of_plain_sets(
    pair: tuple[str, str], units: Literal["characters", "words"], size: int, raw: bool
) -> None:
    raw = raw and units == "characters"
    options = CompareOptions(units=units, shingle=size, normalization=None if raw else DEFAULT)
    found = compare_texts(*pair, options)
    sets = []
    for text, told in zip(pair, (found.first, found.second), strict=True):
        if units == "words":
            cut = tuple(tokens(DEFAULT.apply(text)))
        else:
            cut = tuple(text if raw else " ".join(DEFAULT.apply(text).split()))
        runs = [cut[n : n + size] for n in range(len(cut) - size + 1)] or [cut] * bool(cut)
        assert (told.shingle_count, told.distinct_shingles) == (len(runs), len(set(runs)))
        sets.append(set(runs))
    a, b = sets
    said = values(found)
    jaccard = ratio(len(a & b), len(a | b))
    assert said["resemblance"]["jaccard"] == jaccard
    assert said["resemblance"]["dice"] == pytest.approx(ratio(2 * len(a & b), len(a) + len(b)))
    assert said["containment"] == {
        "a_in_b": ratio(len(a & b), len(a)),
        "b_in_a": ratio(len(a & b), len(b)),
    }
    assert found.similar is (None if jaccard is None else jaccard >= 0.2)
    if a == b:
        assert said["minhash"]["estimate"] == jaccard


@given(pairs, st.sampled_from(["terms", "words", "characters", "shingles"]), st.booleans())
def test_vector_and_filter_measures_are_those_of_plain_counters(
    pair: tuple[str, str], features: Literal["words", "characters", "shingles"], by_log: bool
) -> None:
    weights: Literal["tf", "log-tf"] = "log-tf" if by_log else "tf"
    options = CompareOptions(features=features, weights=weights, lexicons=3)
    found = compare_texts(*pair, options)
    said = values(found)
    both = [Counter(_features(text, features)) for text in pair]
    a, b = both
    assert [found.first.feature_count, found.second.feature_count] == [a.total(), b.total()]
    one, other = (
        {f: 1 + math.log(n) if by_log else n for f, n in counts.items()} for counts in both
    )
    distance = math.sqrt(sum((one.get(f, 0) - other.get(f, 0)) ** 2 for f in {*a, *b}))
    # Logarithms are rounded to 1/1024.
    assert said["euclid"]["distance"] == pytest.approx(
        distance, rel=1e-6, abs=0.02 if by_log else 0
    )
    exact = ratio((a & b).total(), (a | b).total())
    if exact is None:
        assert said["counting-bloom"]["similarity"] is said["cosine"]["cosine"] is None
    else:
        dot = sum(weight * other.get(f, 0) for f, weight in one.items())
        lengths = [math.sqrt(sum(w * w for w in vector.values())) for vector in (one, other)]
        expected = dot / (lengths[0] * lengths[1]) if all(lengths) else 0.0
        assert said["cosine"]["cosine"] == pytest.approx(
            expected, rel=1e-6, abs=1e-3 if by_log else 1e-9
        )
        assert exact <= said["counting-bloom"]["similarity"] <= exact + 0.05
    is_defined = bool(a) and bool(b)
    assert said["i-match"]["equal"] is ({*a} == {*b} if is_defined else None)
    assert 0 <= said["i-match"]["agreeing"] <= 4
    if {*a} == {*b}:
        assert said["simhash-64"]["distance"] == 0 or a != b


def _features(text: str, kind: str) -> list[str]:
    from simstore.text.words import terms

    line = " ".join(DEFAULT.apply(text).split())
    if kind == "terms":
        return terms(text)
    if kind == "words":
        return tokens(DEFAULT.apply(text))
    if kind == "characters":
        return list(line)
    return [line[n : n + 5] for n in range(len(line) - 4)] or [line] * bool(line)


@given(pairs)
def test_the_other_way_round_and_again_the_same_is_said(pair: tuple[str, str]) -> None:
    said = values(compare_texts(*pair))
    assert values(compare_texts(*pair)) == said
    swapped = {"a": "b", "b": "a", "a_in_b": "b_in_a", "b_in_a": "a_in_b"}
    turned = values(compare_texts(*pair[::-1]))
    for algorithm, measures in said.items():
        for name, measured in measures.items():
            # Each of the first list's shingles counts: the order matters.
            if name == "dice_of_lists":
                continue
            assert turned[algorithm][swapped.get(name, name)] == measured
