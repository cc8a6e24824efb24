"""An evaluation says what comparing every pair of documents by hand says."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.services.evaluate.evaluate import Labels
from simstore.store import Store

from .strategies import WORDS

TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.sampled_from([None, "g1", "g2", "g3"])), min_size=2, max_size=9
)


def shingles(text: str) -> set[tuple[str, ...]]:
    """The runs of three tokens; what the words above hold is folded by hand."""
    spaced = text.replace("'", " ").replace("灯", " 灯 ").casefold()
    tokens = spaced.split()
    if not tokens:
        return set()
    size = min(3, len(tokens))
    return {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}


def quality(found: set[frozenset[str]], labelled: set[frozenset[str]]) -> tuple[int, int, int]:
    return len(found & labelled), len(found), len(labelled)


@pytest.mark.slow
@given(DOCUMENTS)
def test_curves_are_those_of_comparing_every_pair(documents: list[tuple[str, str | None]]) -> None:
    keyed = {f"d{number}": one for number, one in enumerate(documents)}
    judged = {key: group for key, (_, group) in keyed.items() if group is not None}
    labelled = {
        frozenset(pair) for pair in combinations(judged, 2) if judged[pair[0]] == judged[pair[1]]
    }
    if not judged:
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal") as store,
    ):
        store.add_many(
            (
                {"key": key, "text": text, "metadata": {"group": group} if group else {}}
                for key, (text, group) in keyed.items()
            ),
            threads=1,
        )
        fingerprints = {d.key: int(d.fingerprint or "", 16) for d in store.list()}
        found = store.evaluate.run(Labels(field="group"))
    sets = {key: shingles(keyed[key][0]) for key in judged}
    for point in found.curve("simhash"):
        near = {
            frozenset((a, b))
            for a, b in combinations(judged, 2)
            if (fingerprints[a] ^ fingerprints[b]).bit_count() <= point.threshold
        }
        counts = (
            point.counts.common_count,
            point.counts.found_count,
            point.counts.labelled_count,
        )
        assert counts == quality(near, labelled)
    for point in found.curve("exact"):
        alike = {
            frozenset((a, b))
            for a, b in combinations(judged, 2)
            if sets[a]
            and sets[b]
            and len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= point.threshold
        }
        assert point.counts.found_count == len(alike)
        assert point.counts.common_count == len(alike & labelled)
