"""Stars made from the first are those of all pairs that meet, compiled or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simstore import compiled
from simstore.fingerprint.shingle_sets import ShingleSets, from_rows
from simstore.search import star_search
from simstore.search.resemblance import overlap
from simstore.search.set_pool import SetPool
from simstore.search.star_search import ColumnPostings, ComparedEdges, StarSignatures, search_stars
from simstore.search.stars import FoundSpokes, spokes_among

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
VALUES = 8


@pytest.fixture(autouse=True)
def _default_kernels() -> Iterator[None]:
    yield
    compiled.enable()


@dataclass(frozen=True)
class Case:
    """Texts with few different values, so that many meet, and an order."""

    sketches: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    owners: NDArray[np.int64]
    words: NDArray[np.uint64]
    order: NDArray[np.int64]
    radius: int
    least_ratio: float
    fewest_equal: int
    likely_equal: int
    salt: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 14))
    rows = st.lists(st.integers(0, 2), min_size=VALUES, max_size=VALUES)
    sketches = draw(st.lists(rows, min_size=count, max_size=count))
    sizes = draw(st.lists(st.sampled_from([0, 4, 6, 9]), min_size=count, max_size=count))
    # Most texts have a fingerprint, some several, some none.
    owned = draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=count, max_size=count))
    owners = np.repeat(np.arange(count), np.array(owned, np.int64))
    words = draw(
        st.lists(
            st.lists(st.integers(0, 15), min_size=2, max_size=2),
            min_size=len(owners),
            max_size=len(owners),
        )
    )
    return Case(
        np.array(sketches, np.uint16).reshape(count, VALUES),
        np.array(sizes, np.int64),
        owners,
        np.array(words, np.uint64).reshape(-1, 2),
        np.array(draw(st.permutations(range(count))), np.int64),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([0.0, 0.5])),
        draw(st.integers(0, VALUES)),
        draw(st.integers(0, VALUES)),
        draw(st.integers(0, 9)),
    )


def share(one: int, other: int, salt: int) -> float:
    return (one * other + one + other + salt) % 4 / 4


@dataclass
class Shares:
    """Joins half of the pairs; notes what it was asked."""

    salt: int
    asked: set[frozenset[int]] = field(default_factory=set)

    def expect(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        assert (first != second).all()

    def compare(self, text: int, others: NDArray[np.int64]) -> ComparedEdges:
        pairs = {frozenset((text, other)) for other in others.tolist()}
        assert len(pairs) == len(others)
        assert not pairs & self.asked
        self.asked |= pairs
        shares = np.array([share(text, other, self.salt) for other in others.tolist()])
        return ComparedEdges(shares >= 0.5, shares)


def signatures(case: Case) -> StarSignatures:
    count = len(case.sizes)
    texts = np.flatnonzero(case.sizes)
    bands = ColumnPostings(
        (case.sketches[texts, place].astype(np.uint64) for place in range(3)), texts, count
    )
    # Without any bits as a key, all fingerprints meet; the radius decides.
    columns = (np.zeros(len(case.words), np.uint64) for _ in range(1))
    prints = ColumnPostings(columns, np.arange(len(case.words)), len(case.words))
    return StarSignatures(
        bands=bands,
        sketches=case.sketches,
        sizes=case.sizes,
        prints=prints,
        print_bounds=np.searchsorted(case.owners, np.arange(count + 1)),
        print_texts=case.owners,
        words=case.words,
        radius=case.radius,
        least_ratio=case.least_ratio,
        fewest_equal=case.fewest_equal,
        likely_equal=case.likely_equal,
    )


def may_hold(case: Case, one: int, other: int) -> bool:
    sizes = case.sizes[[one, other]]
    meet = bool((case.sketches[one, :3] == case.sketches[other, :3]).any() and sizes.all())
    for left in case.words[case.owners == one]:
        for right in case.words[case.owners == other]:
            meet |= int(np.bitwise_count(left ^ right).sum()) <= case.radius
    return (
        meet
        and sizes.min() / max(sizes.max(), 1) >= case.least_ratio
        and np.count_nonzero(case.sketches[one] == case.sketches[other]) >= case.fewest_equal
    )


def of_all_pairs(case: Case) -> FoundSpokes:
    pairs = [
        (one, other)
        for other in range(len(case.sizes))
        for one in range(other)
        if may_hold(case, one, other) and share(one, other, case.salt) >= 0.5
    ]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    shares = np.array([share(*pair, case.salt) for pair in pairs], np.float64)
    return spokes_among(ends[:, 0], ends[:, 1], case.order, shares)


def told(found: FoundSpokes) -> tuple[dict[tuple[int, int], float], list[bool]]:
    pairs = zip(found.texts.tolist(), found.centres.tolist(), strict=True)
    return dict(zip(pairs, found.resemblance.tolist(), strict=True)), found.canonical.tolist()


def check(case: Case, together: int) -> None:
    comparer = Shares(case.salt)
    with mock.patch.object(star_search, "_BLOCK_TEXTS", together):
        found = search_stars(signatures(case), case.order, comparer)
    expected = of_all_pairs(case)
    assert told(found) == told(expected)
    # No more is compared than what may be an edge to a canonical text.
    turn = {text: place for place, text in enumerate(case.order.tolist())}
    assert comparer.asked == {
        frozenset((one, other))
        for one in range(len(turn))
        for other in range(len(turn))
        if turn[one] < turn[other] and expected.canonical[one] and may_hold(case, one, other)
    }


@given(cases(), st.integers(1, 8))
def test_stars_are_those_of_all_pairs_that_meet(case: Case, together: int) -> None:
    compiled.disable()
    check(case, together)


@needs_numba
@given(cases(), st.integers(1, 8))
def test_compiled_stars_are_those_of_all_pairs_that_meet(case: Case, together: int) -> None:
    compiled.enable(0)
    check(case, together)


sets = st.lists(st.sets(st.integers(0, 40), max_size=30).map(sorted), min_size=1, max_size=8)


@pytest.mark.parametrize("fast", [False, pytest.param(True, marks=needs_numba)])
@given(sets, st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.integers(1, 60), st.data())
def test_pooled_sets_are_compared_exactly_where_it_matters(
    fast: bool, rows: list[list[int]], least: float, most: int, data: st.DataObject
) -> None:
    if fast:
        compiled.enable(0)
    else:
        compiled.disable()
    held = [np.array(row, np.uint64) for row in rows]

    def read(texts: NDArray[np.int64]) -> ShingleSets:
        return from_rows([held[text] for text in texts.tolist()])

    pool = SetPool(len(rows), read, least, most)
    numbers = st.integers(0, len(rows) - 1)
    for text in data.draw(st.lists(numbers, max_size=4)):
        others = np.array(sorted(data.draw(st.sets(numbers))), np.int64)
        pool.hold(np.unique(np.append(others, text)))
        found = pool.resemblances(text, others).tolist()
        for other, share_found in zip(others.tolist(), found, strict=True):
            exact = overlap(held[text], held[other]).resemblance
            assert share_found == exact or (share_found == -1 and exact < least)
