from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simstore.errors import InvalidParameter, NotFound
from simstore.fingerprint.counting_bloom import counting_filter, filter_similarity
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.imatch import agreements, in_lexicon, signatures, signatures_of_rows
from simstore.fingerprint.web import WebScheme
from simstore.model import Document
from simstore.search.evaluation import Evaluation
from simstore.services.evaluate.evaluate import (
    EvaluateOptions,
    Labels,
    MethodSignatures,
    filter_overlaps,
)
from simstore.sources.labels import GroupLabel, LabelledPair
from simstore.store import Store

SENTENCES = (
    "The harbour was quiet before the first boats came in from the islands.",
    "Nobody in the town had seen the lamp on the old tower burn so late.",
    "Mix the flour with water and salt and let the dough rest over night.",
    "A thin layer of ice covered the bridge and the road to the mill.",
    "She counted the letters twice and put the oldest at the bottom.",
    "The committee will meet again in spring to decide about the garden.",
    "Rain fell on the tin roof of the station all through the evening.",
    "He drew a map of the valley with every well and every fence.",
)


def text(number: int, changed: int = 0) -> str:
    """A text of its own for each number; so many sentences are changed."""
    chosen = [SENTENCES[(number * 3 + step) % len(SENTENCES)] for step in range(5)]
    named = [f"{sentence} Page {number} line {step}." for step, sentence in enumerate(chosen)]
    for step in range(changed):
        named[step] = f"An altogether other remark number {number} stands at this place {step}."
    return " ".join(named)


DOCUMENTS = [
    Document("a1", text(1), collection="left", metadata={"group": "tide"}),
    Document("a2", text(1), collection="left", metadata={"group": "tide"}),
    Document("a3", text(1, 1), collection="left", metadata={"group": "tide"}),
    Document("b1", text(50), collection="left", metadata={"group": "map"}),
    Document("c1", text(99), collection="right", metadata={"group": "well"}),
    Document("c2", text(99, 2), collection="right", metadata={"group": "well"}),
    Document("x", "nothing of the kind", collection="right"),
    Document("empty", "", collection="right"),
]
FIELD = Labels(field="group")


def filled(folder: Path, **options: Any) -> Store:
    store = Store.create(folder / "s.db", synchronous="normal", **options)
    store.add_many(DOCUMENTS, threads=1)
    return store


def f1(found: Evaluation, method: str, threshold: float) -> float:
    (point,) = [p for p in found.curve(method) if p.threshold == threshold]
    return point.f1


def test_labels_of_a_metadata_field(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        found = store.evaluate.run(FIELD)
    assert found.document_count == 6
    assert found.pair_count == 4
    assert found.methods == (
        "simhash", "minhash", "verified", "likeness", "either", "exact", "exact-either",
    )  # fmt: skip
    assert f1(found, "verified", 0.4) == 1
    assert f1(found, "exact", 0.4) == 1
    # Only the two equal texts are at distance 0.
    assert f1(found, "simhash", 0) == pytest.approx(2 / 5)


def test_pairs_clusters_and_field_are_the_same_labels(tmp_path: Path) -> None:
    keys = {"a": ["a1", "a2", "a3"], "b": ["b1"], "c": ["c1", "c2"]}
    pairs = [LabelledPair(*pair) for one in keys.values() for pair in combinations(one, 2)]
    clusters = [GroupLabel(key, group) for group, one in keys.items() for key in one]
    with filled(tmp_path) as store:
        by_field = store.evaluate.run(FIELD)
        assert store.evaluate.run(Labels(clusters=clusters)) == by_field
        by_pairs = store.evaluate.run(Labels(pairs=pairs))
    # With pairs alone, every document of the store is judged.
    assert by_pairs.document_count == 8
    assert by_pairs.pair_count == 4
    assert f1(by_pairs, "verified", 0.4) == 1


def test_pairs_that_are_labelled_distinct_are_the_only_ones_judged(tmp_path: Path) -> None:
    pairs = [LabelledPair("a1", "a2"), LabelledPair("a1", "a3", duplicate=False)]
    with filled(tmp_path) as store:
        found = store.evaluate.run(Labels(pairs=pairs))
    (point,) = [p for p in found.curve("verified") if p.threshold == 0.4]
    assert (point.counts.common_count, point.counts.found_count) == (1, 2)
    assert found.document_count == 3


def test_unknown_keys_are_told_and_left_aside(tmp_path: Path) -> None:
    pairs = [LabelledPair("a1", "a2"), LabelledPair("a1", "gone"), LabelledPair("lost", "gone")]
    with filled(tmp_path) as store:
        found = store.evaluate.run(Labels(pairs=pairs))
    assert found.unknown_keys == ("gone", "lost")
    assert found.pair_count == 1


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"radii": (5, 2)}, {"radii": (0, 65)}, {"floor": 0.0},
    ]  # fmt: skip
    with filled(tmp_path) as store:
        for options in wrong:
            with pytest.raises(InvalidParameter):
                store.evaluate.run(FIELD, EvaluateOptions(**options))


def test_a_store_in_which_nothing_is_labelled_is_refused(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with pytest.raises(NotFound, match="the labels name gone, which it does not hold"):
            store.evaluate.run(Labels(clusters=[GroupLabel("gone", "g")]))
        with pytest.raises(NotFound, match="metadata field"):
            store.evaluate.run(Labels(field="no such field"))


def test_without_texts_the_channels_alone_are_judged(tmp_path: Path) -> None:
    with filled(tmp_path, text=False) as store:
        found = store.evaluate.run(FIELD)
        assert found.methods == ("simhash", "minhash")
        # Only the two equal texts have equal sketches.
        assert f1(found, "minhash", 1.0) == pytest.approx(2 / 5)
        with pytest.raises(NotFound, match="no texts"):
            store.evaluate.exact_pairs()


def test_exact_pairs(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        found = store.evaluate.exact_pairs(0.4)
        assert [(pair.first, pair.second) for pair in found] == [
            ("a1", "a2"),
            ("a1", "a3"),
            ("a2", "a3"),
            ("c1", "c2"),
        ]
        assert found[0].resemblance == 1
        assert [(p.first, p.second) for p in store.evaluate.exact_pairs(1)] == [("a1", "a2")]
        with pytest.raises(InvalidParameter):
            store.evaluate.exact_pairs(0)


@pytest.fixture
def counts() -> FeatureCounts:
    return WebScheme().count([document.text for document in DOCUMENTS])


def test_signatures_of_a_store_are_those_of_each_text(counts: FeatureCounts) -> None:
    frequencies = np.bincount(counts.columns, minlength=len(counts.terms))
    lexicon = in_lexicon(frequencies, len(counts), 0.2, 0.9)
    each = []
    for document in range(len(counts)):
        columns, _ = counts.row(document)
        terms = [counts.terms[column] for column in columns[lexicon[columns]].tolist()]
        each.append(signatures(terms, 10))
    assert list(signatures_of_rows(counts, lexicon, 10)) == each
    made = MethodSignatures(counts)
    pairs = np.array(list(combinations(range(len(counts)), 2)))
    agreeing = made.agreements(pairs[:, 0], pairs[:, 1])
    expected = [agreements(each[one], each[other]) for one, other in pairs.tolist()]
    assert agreeing.tolist() == expected
    assert max(expected) == 11
    found = {tuple(pair) for pair in np.stack(made.pairs(), axis=1).tolist()}
    assert found == {tuple(pair) for pair, n in zip(pairs.tolist(), expected, strict=True) if n}


def test_filter_overlaps_are_those_of_the_filters(counts: FeatureCounts) -> None:
    filters = []
    for document in range(len(counts)):
        columns, numbers = counts.row(document)
        terms = [counts.terms[column] for column in columns.tolist()]
        filters.append(counting_filter(terms, numbers, counters=1 << 18, hashes=4))
    pairs = np.array(list(combinations(range(len(counts)), 2)))
    found = filter_overlaps(counts, pairs[:, 0], pairs[:, 1])
    assert found.tolist() == pytest.approx(
        [filter_similarity(filters[one], filters[other]) or 0.0 for one, other in pairs.tolist()]
    )


def test_older_methods_are_judged_where_they_are_asked_for(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        assert "i-match" not in store.evaluate.run(FIELD).methods
        found = store.evaluate.run(FIELD, EvaluateOptions(older_methods=True))
    assert found.methods[-2:] == ("i-match", "counting-bloom")
    thresholds = [point.threshold for point in found.curve("i-match")]
    assert thresholds == [float(count) for count in range(1, 12)]
    (at_all,) = [point for point in found.curve("i-match") if point.is_default]
    # The same text agrees in each signature; that of other sentences in none.
    assert at_all.precision == 1.0
    assert at_all.recall > 0
    best = max(point.f1 for point in found.curve("counting-bloom"))
    assert best > 0.8
