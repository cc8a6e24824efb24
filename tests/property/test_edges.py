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

from simstore.errors import InvalidParameter, NotFound
from simstore.model import Document, LeastShares
from simstore.services.channels.pack_sketches import pack
from simstore.services.clusters.distinct_texts import read_contents
from simstore.services.clusters.verified_edges import EdgeFinder
from simstore.services.duplicates.edges import CandidateText, EdgeSearch
from simstore.services.features.prepare import prepare
from simstore.store import Store

from .test_clusters import TEXTS, is_edge

few = settings(max_examples=max(settings.default.max_examples // 4, 1))
TENTHS = st.integers(1, 10).map(lambda tenths: Fraction(tenths, 10))
Found = list[dict[str, float]]


def filled(folder: str, texts: list[str], **options: Any) -> Store:
    store = Store.create(Path(folder) / "s.db", synchronous="normal", **options)
    store.add_many([(str(place), text) for place, text in enumerate(texts)], threads=1)
    return store


def asked(
    store: Store, texts: list[str] | None, radius: int, least: float, among: set[int] | None = None
) -> Found:
    """Return the edges of texts, or of each stored document, as key to resemblance."""
    opened = store._opened
    with opened.database.read() as connection:
        snapshot = opened.snapshot(connection)
        search = EdgeSearch(snapshot, min_resemblance=least, radius=radius)
        keys = {one.document_id: one.key for one in store}
        if texts is None:
            probed = CandidateText.of_documents(snapshot, list(keys))
        else:
            batch = prepare(
                [Document(str(place), text) for place, text in enumerate(texts)], snapshot
            )
            probed = CandidateText.of_batch(batch, batch.words)
        chosen = None if among is None else lambda ids: np.isin(ids, sorted(among))
        edges = search.edges_of(probed, chosen)
        one_by_one = [search.edges_of([one], chosen)[0] for one in probed]
    assert edges == one_by_one
    assert all([e.document_id for e in one] == sorted(e.document_id for e in one) for one in edges)
    return [{keys[edge.document_id]: edge.resemblance for edge in one} for one in edges]


@few
@given(st.lists(TEXTS, max_size=10), st.lists(TEXTS, min_size=1, max_size=5), TENTHS)
def test_where_every_pair_is_looked_at_the_texts_alone_decide(
    stored: list[str], texts: list[str], least: Fraction
) -> None:
    with tempfile.TemporaryDirectory() as folder, filled(folder, stored) as store:
        found = asked(store, texts, 64, float(least))
        some = {one.document_id for one in store if one.document_id % 3}
        of_some = asked(store, texts, 64, float(least), some)
    # Of what is not kept out by having no shingle, each is within 64 bits.
    for text, edges, chosen in zip(texts, found, of_some, strict=True):
        expected = {str(n) for n, other in enumerate(stored) if is_edge(text, other, least)}
        assert set(edges) == expected
        assert chosen == {key: edges[key] for key in edges if (int(key) + 1) % 3}


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
            pack(store._opened, "minhash")
        found = asked(store, None, radius, float(least))
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


@pytest.mark.parametrize("least", [0.0, -0.1, 1.01])
def test_a_least_resemblance_out_of_its_range_is_refused(least: float) -> None:
    with tempfile.TemporaryDirectory() as folder, filled(folder, []) as store:
        opened = store._opened
        with opened.database.read() as connection, pytest.raises(InvalidParameter, match="min"):
            EdgeSearch(opened.snapshot(connection), min_resemblance=least)


def test_without_texts_and_sketches_there_is_nothing_to_verify_by() -> None:
    options = {"channels": ("simhash",), "text": False}
    with tempfile.TemporaryDirectory() as folder, filled(folder, [], **options) as store:
        opened = store._opened
        with opened.database.read() as connection, pytest.raises(NotFound, match="neither texts"):
            EdgeSearch(opened.snapshot(connection), min_resemblance=0.5)
