"""One text is prepared in two compiled calls, as a batch would be, or is left to a batch."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from simstore import compiled
from simstore.fingerprint.one_text import LONGEST, PreparedText
from simstore.fingerprint.sketching import Sketching, sketch_texts
from simstore.fingerprint.web import WebScheme
from simstore.services.features.feature_counts import pack_change
from simstore.storage import codecs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("numba") is None, reason="no Numba"),
]
ALL_OF = [
    "one",
    "One two, two; three three THREE.",
    "internationalization of extraordinarily long words: " + "a" * 40 + " " + "a" * 41,
    "“Quoted”, — dashes, é ä ü ß ﬁnds x² ﷺ",
    "Привет мир, как дела сегодня",
    "raw \udcff bytes \x00 and \U0001f600",
    "word " * 5_000,
    " ".join(f"w{number}" for number in range(2_000)),
]
NOT_OF = [
    "", " ... ", "漢字かな交じり文", "e\u0301 depends on its neighbour", "che\u200bap bo\u0430ts",
    " ".join(f"w{number}" for number in range(9_000)), "word " * (LONGEST // 5 + 1),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _compiled() -> None:
    compiled.enable(0)


def prepared(text: str, bits: int = 64, tie: str = "zero") -> PreparedText | None:
    scheme = WebScheme(bits, tie=tie)
    return scheme.prepared_alone(text, text.encode("utf-8", "surrogateescape"), 3)


def test_one_text_becomes_what_a_batch_makes_of_it() -> None:
    for bits, tie in ((64, "zero"), (7, "one")):
        for text in ALL_OF:
            made = prepared(text, bits, tie)
            assert made is not None, (bits, text)
            scheme = WebScheme(bits, tie=tie)
            counts = scheme.count([text])
            assert made.words.tolist() == scheme.fingerprints(counts).tolist(), (bits, text)
            assert made.token_count == scheme.token_counts(counts)[0], (bits, text)
            assert [made.sketch] == sketch_texts(Sketching(scheme.normalization), [text]), (
                bits,
                text,
            )
            assert codecs.packed_named_delta(made.change) == pack_change(counts), (bits, text)


def test_a_text_that_asks_for_more_is_left_to_a_batch() -> None:
    for text in NOT_OF:
        assert prepared(text) is None, text


def test_schemes_that_hash_or_weigh_otherwise_leave_texts_to_a_batch() -> None:
    for scheme in (
        WebScheme(100),
        WebScheme(weights="tf"),
        WebScheme(feature_hash="md5"),
        WebScheme(stopwords=frozenset({b"the"})),
    ):
        assert scheme.prepared_alone("one two three", b"one two three", 3) is None


def test_what_was_made_of_one_text_stays_when_another_is_prepared() -> None:
    first = prepared("one two three")
    assert first is not None
    words, sketch, change = first.words.copy(), first.sketch, first.change
    prepared("four five six seven eight")
    assert np.array_equal(first.words, words)
    assert (first.sketch, first.change) == (sketch, change)
