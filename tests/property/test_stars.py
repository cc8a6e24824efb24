"""Stars are those of the rule taken word by word, whatever the order of the edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.search.stars import star_clusters

Edge = tuple[int, int]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Edge], list[int]]:
    """Return edges, some more than once or turned round, chains among them, and an order."""
    count = draw(st.integers(1, 12))
    row = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(row, row).filter(lambda e: e[0] != e[1]), max_size=30))
    if draw(st.booleans()):
        path = draw(st.permutations(range(count)))
        edges += pairwise(path)
    return edges, draw(st.permutations(range(count)))


def share(one: int, other: int) -> float:
    """Return one of few numbers for a pair, the same whichever way round it is."""
    return 0.5 + (one * other + one + other) % 3 / 10


def by_the_rule(edges: list[Edge], order: list[int]) -> list[int]:
    joined = {frozenset(edge) for edge in edges}
    canonical: list[int] = []
    centres = [-1] * len(order)
    for row in order:
        # In the order in which they became canonical; the first of the largest is taken.
        near = [other for other in canonical if frozenset((other, row)) in joined]
        centres[row] = max(near, key=lambda other: share(other, row)) if near else row
        if not near:
            canonical.append(row)
    return centres


def found(edges: list[Edge], order: list[int]) -> list[int]:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    shares = np.array([share(*edge) for edge in edges], np.float64)
    return star_clusters(ends[:, 0], ends[:, 1], np.array(order, np.int64), shares).tolist()


@given(graphs())
def test_stars_are_those_of_the_rule(graph: tuple[list[Edge], list[int]]) -> None:
    assert found(*graph) == by_the_rule(*graph)


@pytest.mark.slow
@given(graphs(), st.randoms(use_true_random=False))
def test_stars_do_not_depend_on_the_order_of_the_edges(
    graph: tuple[list[Edge], list[int]], chance: object
) -> None:
    edges, order = graph
    turned = [edge[::-1] if chance.random() < 0.5 else edge for edge in edges]  # type: ignore[attr-defined]
    chance.shuffle(turned)  # type: ignore[attr-defined]
    assert found(turned, order) == found(edges, order)


@given(graphs())
def test_every_member_has_an_edge_to_its_canonical_document_and_no_two_of_these_have_one(
    graph: tuple[list[Edge], list[int]],
) -> None:
    edges, order = graph
    joined = {frozenset(edge) for edge in edges}
    centres = found(edges, order)
    for row, centre in enumerate(centres):
        assert centres[centre] == centre
        assert row == centre or frozenset((row, centre)) in joined
        assert order.index(centre) <= order.index(row)
    assert not any(centres[a] == a and centres[b] == b for a, b in edges)
