"""Terms and words of texts of any kind."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint.features import count_features, count_letters
from simstore.fingerprint.simhash import to_integers
from simstore.fingerprint.web import WebScheme
from simstore.text import words
from simstore.text.normalization import Normalization
from simstore.text.words import terms

from .strategies import any_text


@given(any_text)
def test_no_text_but_white_space_has_no_terms(text: str) -> None:
    assert bool(terms(text)) == bool(text.split())


@given(
    any_text, st.sampled_from(["fold", "keep"]), st.sampled_from(["fold", "keep"]),
    st.sampled_from(["keep", "strip"]),
)  # fmt: skip
def test_normalization_is_stable_with_every_option(
    text: str, case: Literal["fold", "keep"], width: Literal["fold", "keep"],
    accents: Literal["keep", "strip"],
) -> None:  # fmt: skip
    normalization = Normalization(case, width, accents)
    once = normalization.apply(text)
    assert normalization.apply(once) == once


@given(st.text(st.characters(max_codepoint=127)), st.sampled_from(["é", "字", "\u0378"]))
def test_ascii_has_the_same_terms_alone_and_beside_other_text(text: str, other: str) -> None:
    together = terms(f"{text}\n{other}")
    assert together[:-1] == [term for term in terms(text) if term.isascii() and term.isalnum()]
    assert together[-1] == other


@given(st.lists(any_text, max_size=6), st.integers(1, 9))
def test_long_texts_cut_into_pieces_have_the_same_terms(parts: list[str], piece: int) -> None:
    text = "\n".join(parts)
    whole = terms(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_PIECE", piece)
        assert terms(text) == whole


@given(st.lists(st.binary(max_size=80), max_size=4))
def test_counted_letters_are_those_of_the_oracle(texts: list[bytes]) -> None:
    excluded = frozenset([b"a", b"zz"])
    counts = count_letters(texts, excluded)
    assert len(counts) == len(texts)
    for number, text in enumerate(texts):
        columns, amounts = counts.row(number)
        made = {counts.terms[c]: n for c, n in zip(columns.tolist(), amounts.tolist(), strict=True)}
        assert made == Counter(word for word in oracle.words(text) if word not in excluded)
        assert columns.tolist() == sorted(set(columns.tolist()))


@given(st.lists(st.lists(st.sampled_from(["a", "b", "cc", "d"]), max_size=6), max_size=5))
def test_feature_counts_are_those_of_a_plain_count(documents: list[list[str]]) -> None:
    excluded = frozenset([b"d"])
    counts = count_features((iter((one[:2], one[2:])) for one in documents), excluded)
    assert len(counts) == len(documents)
    for number, document in enumerate(documents):
        columns, amounts = counts.row(number)
        made = {counts.terms[c]: n for c, n in zip(columns.tolist(), amounts.tolist(), strict=True)}
        assert made == {w.encode(): document.count(w) for w in document if w != "d"}
        assert columns.tolist() == sorted(set(columns.tolist()))
    kept = [len([word for word in one if word != "d"]) for one in documents]
    assert counts.token_counts().tolist() == kept
    assert b"d" not in counts.terms
    assert len(set(counts.terms)) == len(counts.terms)


@given(st.lists(any_text, min_size=1, max_size=5), st.sampled_from(["zero", "one"]))
def test_fingerprint_of_a_text_does_not_depend_on_its_batch(texts: list[str], tie: str) -> None:
    scheme = WebScheme(64, tie=tie)
    together = to_integers(scheme.fingerprints(scheme.count(texts)))
    alone = [to_integers(scheme.fingerprints(scheme.count([text])))[0] for text in texts]
    assert together == alone
