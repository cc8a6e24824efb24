"""Signatures of a batch are what a store makes of its documents."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.fingerprint.channels import Channels, signatures
from simstore.fingerprint.scheme import KNOWN_TEXTS
from simstore.fingerprint.web import WebScheme
from simstore.text.normalization import Normalization
from simstore.text.recipes import FeatureRecipe

TEXTS = [*KNOWN_TEXTS, "one two three four five six seven", "六个汉字在这里"]


@pytest.mark.slow
def test_signatures_are_those_of_scheme_and_sketching() -> None:
    """Few texts and many: many are compiled."""
    for times in (1, 400):
        for bits in (64, 17, 128):
            scheme, channels = WebScheme(bits), Channels()
            texts = TEXTS * times
            size = sum(len(text.encode("utf-8", "surrogateescape")) for text in texts)
            made = signatures(scheme, channels, texts, size)
            counts = scheme.count(texts)
            assert made.words is not None, (times, bits)
            assert (made.words == scheme.fingerprints(counts)).all(), (times, bits)
            assert (made.feature_counts == scheme.token_counts(counts)).all(), (times, bits)
            sizes, sketches = channels.sketching.sketched(texts)
            assert (made.shingle_counts == sizes).all(), (times, bits)
            assert (made.sketches["minhash"] == sketches).all(), (times, bits)


@pytest.mark.slow
def test_a_text_without_words_has_the_same_shingles_in_any_batch() -> None:
    for recipe in ({}, {"accents": "strip"}, {"case": "keep"}):
        for text in ("\ufeff", "\xad \u200d", "...", ". .", " "):
            normalization = Normalization(**recipe)
            scheme = WebScheme(recipe=FeatureRecipe(normalization=normalization))
            channels = Channels.of(normalization=normalization)
            texts = [text, *["one two three four five six seven"] * 10_000]
            alone, _ = channels.sketching.sketched([text])
            made = signatures(scheme, channels, texts, sum(len(text.encode()) for text in texts))
            assert made.shingle_counts[0] == alone[0], (recipe, text)
            assert made.feature_counts[0] == scheme.token_counts(scheme.count([text]))[0], (
                recipe,
                text,
            )


def test_a_channel_that_is_not_there_is_not_made() -> None:
    scheme = WebScheme()
    only_prints = signatures(scheme, Channels.of(["simhash"]), TEXTS, 500)
    assert only_prints.sketches == {}
    both = signatures(scheme, Channels(), TEXTS, 500)
    assert np.array_equal(only_prints.shingle_counts, both.shingle_counts)
    assert signatures(scheme, Channels.of(["minhash"]), TEXTS, 500).words is None
