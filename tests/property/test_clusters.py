"""Clusters of a store are those of the rule, taken word by word from the texts alone."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstore.services.clusters.cluster import ClusterOptions
from simstore.store import Store

pytestmark = pytest.mark.slow

few = settings(max_examples=max(settings.default.max_examples // 2, 1))
LEAST_FEATURES = 8
WORDS = ["river", "stone", "lamp", "harbour", "bridge", "tide"]
# Runs of few phrases, so that texts share shingles, contain each other, and differ in length.
PHRASES = st.sampled_from(
    [*WORDS, "the lamp on the old bridge", "a stone in the river", "when the tide came in at last"]
)
TEXTS = st.lists(PHRASES, max_size=5).map(" ".join)


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[i : i + 3]) for i in range(max(len(words) - 2, min(len(words), 1)))}


def resemblance(one: str, other: str) -> Fraction:
    if one == other:
        return Fraction(1)
    a, b = shingles(one), shingles(other)
    return Fraction(len(a & b), max(len(a | b), 1))


def is_edge(one: str, other: str, least: Fraction) -> bool:
    if one == other:
        return bool(one.strip())
    a, b = shingles(one), shingles(other)
    if not a or not b or Fraction(len(a & b), len(a | b)) < least:
        return False
    short = min(len(one.split()), len(other.split())) < LEAST_FEATURES
    return not short or a <= b or b <= a


def by_the_rule(texts: list[str], least: Fraction, policy: str) -> list[list[int]]:
    order = list(range(len(texts)))
    if policy == "longest":
        order.sort(key=lambda row: (-len(texts[row]), row))
    stars: list[list[int]] = []
    for row in order:
        near = [star for star in stars if is_edge(texts[star[0]], texts[row], least)]
        if near:
            # The first of those that it resembles most.
            max(near, key=lambda star: resemblance(texts[star[0]], texts[row])).append(row)
        else:
            stars.append([row])
    return stars


@few
@given(
    st.lists(TEXTS, min_size=1, max_size=14),
    st.integers(1, 10).map(lambda tenths: Fraction(tenths, 10)),
    st.sampled_from(["first", "longest"]),
    st.booleans(),
)
def test_clusters_are_those_of_the_rule(
    texts: list[str], least: Fraction, policy: str, exact_join: bool
) -> None:
    expected = by_the_rule(texts, least, policy)
    # With the largest radius the fingerprints leave no pair out, so both ways find all.
    radius = None if exact_join else 64
    options = ClusterOptions(
        min_resemblance=float(least),
        radius=radius,
        exact_join=exact_join,
        policy=policy,
        min_size=1,
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "s.db", synchronous="normal") as store,
    ):
        store.add_many(((str(row), text) for row, text in enumerate(texts)), threads=1)
        found = store.clusters.once(options)
    assert [[int(m.key) for m in cluster.members] for cluster in found.clusters] == expected
    assert found.too_short_count == sum(len(text.split()) < LEAST_FEATURES for text in texts)
