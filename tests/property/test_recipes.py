"""Every recipe on any text: something comes out, the same alone and beside others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.feature_hash import FEATURE_HASHES
from simstore.fingerprint.schemes import open_scheme
from simstore.fingerprint.web import EnumeratedField, WebScheme
from simstore.text.normalization import Normalization
from simstore.text.recipes import FeatureRecipe
from simstore.text.segmentation import SEGMENTERS

from .strategies import any_text, bits

normalizations = st.builds(
    Normalization,
    st.sampled_from(["fold", "keep"]),
    st.sampled_from(["fold", "keep"]),
    st.sampled_from(["keep", "strip"]),
    st.sampled_from(["keep", "characters", "simplified", "simplified-words"]),
    st.sampled_from(["keep", "fold"]),
)
recipes = st.one_of(
    st.builds(
        FeatureRecipe,
        normalizations,
        st.just("words"),
        st.sampled_from(SEGMENTERS),
        st.integers(1, 4),
        st.sampled_from(["none", "english", "russian", "arabic"]),
    ),
    st.builds(
        FeatureRecipe, normalizations, st.just("characters"), st.just("chars"), st.integers(1, 6)
    ),
)
texts = st.one_of(
    any_text, st.text("研究生命起源的和尚未结婚漢龍カnó ab,.\n", max_size=30), st.just("ÀÉ̀ 42")
)


def features(recipe: FeatureRecipe, text: str) -> list[str]:
    return [feature for piece in recipe.extractor()(text) for feature in piece]


@given(recipes, texts)
def test_no_text_but_white_space_has_no_features(recipe: FeatureRecipe, text: str) -> None:
    found = features(recipe, text)
    assert bool(found) == bool(text.split())
    assert all(found)


@given(recipes, texts)
def test_shingles_overlap_in_all_but_one_unit(recipe: FeatureRecipe, text: str) -> None:
    found = features(recipe, text)
    units = found if recipe.units == "characters" else [one.split(" ") for one in found]
    if recipe.shingle > 1:
        assert all(one[1:] == next_one[:-1] for one, next_one in pairwise(units))


@pytest.mark.slow
@given(
    recipes,
    bits.filter(lambda m: m > 1),
    st.sampled_from(sorted(FEATURE_HASHES)),
    st.sampled_from(["log-tf", "tf", "uniform"]),
    st.lists(st.tuples(texts, st.sampled_from(["a", "b", "c", "other"])), min_size=1, max_size=4),
)
def test_fingerprint_is_the_same_alone_and_beside_others_and_after_a_restart(
    recipe: FeatureRecipe,
    width: int,
    feature_hash: str,
    weights: str,
    documents: list[tuple[str, str]],
) -> None:
    scheme = WebScheme(
        width,
        recipe=recipe,
        feature_hash=feature_hash,
        weights=weights,
        fields=[EnumeratedField("kind", ("a", "b", "c"), 2)],
    )
    again = open_scheme(scheme.record())
    assert again.record() == scheme.record()
    given_texts = [text for text, _ in documents]
    metadata = [{"kind": kind} for _, kind in documents]
    together = scheme.fingerprints(scheme.count(given_texts, metadata)).tolist()

    def alone(place: int) -> list[int]:
        counts = again.count([given_texts[place]], [metadata[place]])
        made: list[int] = again.fingerprints(counts).tolist()[0]
        return made

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(alone, range(len(documents)))) == together
