"""Sorted tables find what a look at everything finds, at every M and radius, by every plan."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search import sorted_tables, table_plans
from simstore.search.plan import Plan
from simstore.search.scan import scan_many
from simstore.search.sorted_tables import GrowingTables, SortedTables

from .kernels import kernels
from .plans import by_scan, by_segments
from .strategies import bits_and_radius, fingerprints_of, flipped, usual_bits


@st.composite
def planted(draw: st.DrawFn) -> tuple[list[int], list[int], int, int]:
    """Return stored ones, queries with neighbours at radius and radius + 1, M and the radius."""
    width, radius = draw(bits_and_radius())
    queries = draw(st.lists(fingerprints_of(width), min_size=1, max_size=4))
    stored = draw(st.lists(fingerprints_of(width), max_size=15))
    for query in queries:
        stored.append(draw(flipped(query, width, radius)))
        if radius < width:
            stored.append(draw(flipped(query, width, radius + 1)))
    return draw(st.permutations(stored)), queries, width, radius


def nearest(stored: list[int], query: int, radius: int) -> list[tuple[int, int]]:
    """Return (fingerprint, distance), each once, by distance and then by value."""
    values = sorted(set(stored))
    return sorted(
        ((values[row], far) for row, far in oracle.within(values, query, radius)),
        key=lambda match: (match[1], match[0]),
    )


@given(case=planted())
def test_growing_tables_find_what_is_near_one(
    case: tuple[list[int], list[int], int, int],
) -> None:
    stored, queries, width, radius = case
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sorted_tables, "_BUFFERED", 3)
        tables = GrowingTables(width)
        for value in stored:
            tables = tables.extended(to_words([value], width))
        others = [value ^ (1 << width) - 1 for value in queries]
        for query in (*queries, *others):
            found = tables.near_many(to_words([query], width), radius)
            assert not found.query_rows.any()
            expected = nearest(stored, query, radius)
            assert set(to_integers(found.words)) == {value for value, _ in expected}
            assert tables.near(query, radius) == expected


def of_many(tables: SortedTables, queries: list[int], radius: int) -> list[list[tuple[int, int]]]:
    found = tables.near_many(to_words(queries, tables.bits), radius)
    answers: list[list[tuple[int, int]]] = [[] for _ in queries]
    for row, value, far in zip(
        found.query_rows.tolist(), to_integers(found.words), found.distances.tolist(), strict=True
    ):
        answers[row].append((value, far))
    return answers


@given(planted(), st.sampled_from([by_segments, by_scan]), st.booleans(), st.booleans())
def test_tables_equal_the_oracle(
    case: tuple[list[int], list[int], int, int],
    plan: Callable[..., Plan],
    compiled_too: bool,
    crowded: bool,
) -> None:
    stored, queries, width, radius = case
    # Beyond, a segment has more values to flip to than a test can wait for.
    assume(radius <= 12)
    right = [nearest(stored, query, radius) for query in queries]
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(table_plans, "choose_plan", plan)
        if crowded:
            patch.setattr(table_plans, "CROWDED", 2)
            patch.setattr(sorted_tables, "CROWDED", 2)
        tables = SortedTables(to_words(stored, width), width)
        assert tables.count == len(set(stored))
        assert [tables.near(query, radius) for query in queries] == right
        assert of_many(tables, queries, radius) == right


@pytest.mark.slow
@given(planted(), st.sampled_from([by_segments, by_scan]), st.booleans())
def test_pairs_of_tables_equal_the_oracle(
    case: tuple[list[int], list[int], int, int], plan: Callable[..., Plan], compiled_too: bool
) -> None:
    stored, _, width, radius = case
    assume(radius <= 12)
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(table_plans, "choose_plan", plan)
        tables = SortedTables(to_words(stored, width), width)
        found = [
            pair
            for part in tables.near_pairs(radius)
            for pair in zip(
                to_integers(part.left),
                to_integers(part.right),
                part.distances.tolist(),
                strict=True,
            )
        ]
    assert sorted(found) == [
        (one, other, (one ^ other).bit_count())
        for one, other in combinations(sorted(set(stored)), 2)
        if (one ^ other).bit_count() <= radius
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [16, 64, 128])
@pytest.mark.parametrize("compiled_too", [False, True])
def test_many_fingerprints_under_their_own_plans(width: int, compiled_too: bool) -> None:
    chance = random.Random(width)
    stored = [chance.getrandbits(width) for _ in range(5_000)]
    # A crowd under one value of the first segment.
    low = (1 << (width - 16)) - 1
    stored += [chance.getrandbits(width) & low for _ in range(2_000)]
    queries = [*stored[:20], *stored[-20:], 0, chance.getrandbits(width)]
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(table_plans, "CROWDED", 100)
        patch.setattr(sorted_tables, "CROWDED", 100)
        tables = SortedTables(to_words(stored, width), width)
        for radius in (0, 1, 3, 6):
            right = [nearest(stored, query, radius) for query in queries]
            assert [tables.near(query, radius) for query in queries] == right
            assert of_many(tables, queries, radius) == right
        assert of_many(tables, [], 3) == []


def test_plan_of_a_crowded_query_leaves_the_crowd_out() -> None:
    chance = random.Random(1)
    low = (1 << 48) - 1
    stored = [chance.getrandbits(64) & low for _ in range(80_000)]
    tables = SortedTables(to_words(stored, 64), 64)
    ((plan, probes, candidates),) = tables.look_ups(to_words(stored[:1], 64), 3)
    assert sum(threshold + 1 for threshold in plan.thresholds) == 4
    assert plan.thresholds[0] == -1
    assert candidates < 1_000
    assert probes >= 4
    assert tables.near(stored[0], 3) == nearest(stored, stored[0], 3)


def test_more_matches_than_there_is_room_for_at_first() -> None:
    stored = [1 << a | 1 << b for a, b in combinations(range(64), 2)]
    for compiled_too in (False, True):
        with kernels(compiled_too), pytest.MonkeyPatch.context() as patch:
            patch.setattr(table_plans, "choose_plan", by_segments)
            tables = SortedTables(to_words(stored, 64), 64)
            assert tables.near(0, 2) == [(value, 2) for value in sorted(stored)]
            assert of_many(tables, [0], 2) == [tables.near(0, 2)]


@pytest.mark.slow
def test_threads_get_the_answers_of_one() -> None:
    chance = random.Random(7)
    stored = [chance.getrandbits(64) for _ in range(2_000)]
    stored += [value ^ 5 for value in stored[:200]]
    for compiled_too in (False, True):
        with kernels(compiled_too), ThreadPoolExecutor(4) as threads:
            tables = SortedTables(to_words(stored, 64), 64)
            answers = list(threads.map(tables.near, stored[:400], [3] * 400))
            assert answers == [nearest(stored, value, 3) for value in stored[:400]]


def test_radius_out_of_range_is_refused() -> None:
    for radius in (-1, 65):
        tables = SortedTables(to_words([1, 2], 64), 64)
        with pytest.raises(InvalidParameter):
            tables.near(1, radius)
        with pytest.raises(InvalidParameter):
            tables.near_many(to_words([1], 64), radius)
        with pytest.raises(InvalidParameter):
            list(tables.near_pairs(radius))


@given(usual_bits, st.integers(0, 128), st.booleans(), st.data())
def test_scan_equals_the_oracle(
    width: int, radius: int, compiled_too: bool, data: st.DataObject
) -> None:
    stored = data.draw(st.lists(fingerprints_of(width), max_size=30))
    queries = data.draw(st.lists(fingerprints_of(width), max_size=4))
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr("simstore.search.scan._BLOCK_WORDS", 4)
        rows, positions, far = scan_many(to_words(stored, width), to_words(queries, width), radius)
    assert list(zip(rows.tolist(), positions.tolist(), far.tolist(), strict=True)) == [
        (row, *match)
        for row, query in enumerate(queries)
        for match in sorted(oracle.within(stored, query, radius))
    ]
