"""Edges from a few texts to a store's documents: those of the rule, whatever is asked at a time."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simstore.model import LeastShares
from simstore.services.channels.pack_sketches import compact
from simstore.services.clusters.distinct_texts import read_contents
from simstore.services.clusters.verified_edges import EdgeFinder
from simstore.services.duplicates.edges import CandidateText, EdgeSearch
from simstore.store import Store

from .test_clusters import TEXTS

few = settings(max_examples=max(settings.default.max_examples // 4, 1))
TENTHS = st.integers(1, 10).map(lambda tenths: Fraction(tenths, 10))
Found = list[dict[str, float]]


def filled(folder: str, texts: list[str], **options: Any) -> Store:
    store = Store.create(Path(folder) / "s.db", synchronous="normal", **options)
    store.add_many([(str(place), text) for place, text in enumerate(texts)], threads=1)
    return store


def edges_in(store: Store, radius: int, least: float) -> Found:
    """Return the edges of each stored document, as key to resemblance."""
    opened = store._opened
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        search = EdgeSearch(snapshot, min_resemblance=least, radius=radius)
        keys = {one.document_id: one.key for one in store}
        probed = CandidateText.of_documents(snapshot, list(keys))
        edges = search.edges_of(probed)
        one_by_one = [search.edges_of([one])[0] for one in probed]
    assert edges == one_by_one
    assert all([e.document_id for e in one] == sorted(e.document_id for e in one) for one in edges)
    return [{keys[edge.document_id]: edge.resemblance for edge in one} for one in edges]


@few
@given(
    st.lists(TEXTS, min_size=1, max_size=12),
    TENTHS,
    st.sampled_from([("simhash", "minhash"), ("simhash",), ("minhash",)]),
    st.booleans(),
    st.sampled_from([0, 3, 8]),
    st.booleans(),
)
def test_stored_documents_have_the_edges_that_clustering_finds(
    stored: list[str],
    least: Fraction,
    channels: tuple[str, ...],
    text: bool,
    radius: int,
    packed: bool,
) -> None:
    assume(text or "minhash" in channels)
    with (
        tempfile.TemporaryDirectory() as folder,
        filled(folder, stored, channels=channels, text=text) as store,
    ):
        if packed:
            compact(store._opened, "minhash")
        found = edges_in(store, radius, float(least))
        opened = store._opened
        with opened.database.read() as connection:
            snapshot = opened.snapshot(connection)
            held = read_contents(snapshot)
            finder = EdgeFinder(snapshot, held, LeastShares(float(least)))
            order = np.arange(len(held.firsts))
            spokes = finder.spokes(order, radius if "simhash" in channels else None)
    made = {
        (text, centre): share
        for text, centre, share in zip(
            spokes.texts.tolist(), spokes.centres.tolist(), spokes.resemblance.tolist(), strict=True
        )
    }
    # Those of the first document with each text, to earlier texts that have none themselves.
    numbers = held.texts.tolist()
    canonical: set[int] = set()
    expected = {}
    for number, first in enumerate(held.firsts.tolist()):
        led = {
            numbers[int(key)]: share
            for key, share in found[first].items()
            if numbers[int(key)] in canonical
        }
        expected |= {(number, other): share for other, share in led.items()}
        if not led:
            canonical.add(number)
    assert made == pytest.approx(expected)
    assert np.flatnonzero(spokes.canonical).tolist() == sorted(canonical)
    # Copies of a text have an edge to each other.
    for place, one in enumerate(found):
        same = {str(n) for n in range(len(stored)) if numbers[n] == numbers[place] and n != place}
        assert {key for key, share in one.items() if key in same} == same
