"""The classic methods find what a look at everything finds, or say what they cannot do."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.classic import hamming_plans as classic
from simstore.classic.hamming_plans import near_many_by
from simstore.errors import InvalidParameter
from simstore.fingerprint.simhash import to_integers, to_words
from simstore.search.methods import CLASSIC_METHODS, METHODS, TABLE_METHODS, check_method

from .kernels import kernels
from .strategies import bits, fingerprints_of, flipped

Answers = list[list[tuple[int, int]]]


def answers(method: str, stored: list[int], width: int, queries: list[int], radius: int) -> Answers:
    """Return (fingerprint, distance) of each query, ascending."""
    found = near_many_by(method, to_words(stored, width), width, to_words(queries, width), radius)
    result: Answers = [[] for _ in queries]
    for row, value, far in zip(
        found.query_rows.tolist(), to_integers(found.words), found.distances.tolist(), strict=True
    ):
        result[row].append((value, far))
    assert found.probe_counts.shape == found.candidate_counts.shape == (len(queries),)
    assert all(
        len(one) <= candidates
        for one, candidates in zip(result, found.candidate_counts.tolist(), strict=True)
    )
    return [sorted(one) for one in result]


def expected(stored: list[int], queries: list[int], radius: int) -> Answers:
    return [
        sorted((stored[place], far) for place, far in oracle.within(stored, query, radius))
        for query in queries
    ]


@given(bits, st.integers(0, 2), st.booleans(), st.data())
def test_methods_for_small_radii_equal_the_oracle(
    width: int, radius: int, compiled_too: bool, data: st.DataObject
) -> None:
    radius = min(radius, width)
    queries = data.draw(st.lists(fingerprints_of(width), min_size=1, max_size=3))
    stored = set(data.draw(st.lists(fingerprints_of(width), max_size=12)))
    for query in queries:
        stored.add(data.draw(flipped(query, width, radius)))
        if radius < width:
            stored.add(data.draw(flipped(query, width, radius + 1)))
    right = expected(sorted(stored), queries, radius)
    with pytest.MonkeyPatch.context() as patch, kernels(compiled_too):
        patch.setattr(classic, "_EXPANDED_BLOCK", data.draw(st.sampled_from([1, 1 << 22])))
        for method in ("probe", "interpolation", "expanded"):
            if method == "interpolation" and width > 64:
                continue
            assert answers(method, sorted(stored), width, queries, radius) == right, method


@pytest.mark.slow
@given(st.integers(0, 3), st.booleans(), st.data())
def test_tables_equal_the_oracle(radius: int, compiled_too: bool, data: st.DataObject) -> None:
    queries = data.draw(st.lists(fingerprints_of(64), min_size=1, max_size=3))
    stored = set(data.draw(st.lists(fingerprints_of(64), max_size=12)))
    for query in queries:
        for distance in (radius, radius + 1):
            stored.add(data.draw(flipped(query, 64, distance)))
    right = expected(sorted(stored), queries, radius)
    with kernels(compiled_too):
        for method in TABLE_METHODS:
            assert answers(method, sorted(stored), 64, queries, radius) == right, method


@given(st.lists(st.integers(0, 2**64 - 1), unique=True), st.lists(st.integers(0, 2**64 - 1)))
def test_interpolation_finds_each_value_where_it_is(stored: list[int], asked: list[int]) -> None:
    ordered = np.array(sorted(stored), np.uint64)
    keys = np.array([*asked, *stored, *(max(value, 1) - 1 for value in stored)], np.uint64)
    there, places = classic._places_by_interpolation(ordered, keys)
    assert there.tolist() == [n for n, key in enumerate(keys.tolist()) if key in set(stored)]
    assert ordered[places].tolist() == keys[there].tolist()


def test_empty_and_equal_sets() -> None:
    for method in CLASSIC_METHODS:
        assert answers(method, [], 64, [1, 2], 2) == [[], []], method
        assert answers(method, [1], 64, [1, 1], 2) == [[(1, 0)], [(1, 0)]], method
        assert answers(method, [1], 64, [], 2) == [], method


def test_tables_of_longer_prefixes_find_differences_anywhere() -> None:
    for method in TABLE_METHODS:
        for place in range(64):
            source = random.Random(place)
            stored = source.getrandbits(64)
            others = [n for n in range(64) if n != place]
            queries = [
                stored ^ 1 << place ^ 1 << first ^ 1 << second
                for first, second in (source.sample(others, 2) for _ in range(40))
            ]
            assert answers(method, [stored], 64, queries, 3) == [[(stored, 3)]] * 40, method


@pytest.mark.parametrize(
    ("method", "width", "radius", "count", "says"),
    [
        ("probe", 64, 4, 1, "radius of at most 3"),
        ("probe", 128, 3, 1, "radius of at most 2"),
        ("interpolation", 64, 4, 1, "radius of at most 3"),
        ("interpolation", 65, 1, 1, "at most 64 bits"),
        ("expanded", 64, 5, 0, "at most 1,000,000"),
        ("expanded", 64, 3, 5_000, "4,571 fingerprints"),
        ("expanded", 64, 2, 1_000_000, "at most 200,000,000"),
        ("tables4", 100, 3, 1, "for 64 bits"),
        ("tables10", 63, 3, 1, "for 64 bits"),
        ("tables16", 64, 4, 1, "radius of at most 3"),
        ("tables20", 64, 4, 1, "radius of at most 3"),
    ],
)
def test_what_a_method_cannot_do_is_one_line(
    method: str, width: int, radius: int, count: int, says: str
) -> None:
    with pytest.raises(InvalidParameter, match=says) as caught:
        check_method(method, width, radius, count)
    assert "\n" not in str(caught.value)
    assert f"plan {method}" in str(caught.value)
    assert "use auto" in str(caught.value)


@given(bits, st.data())
def test_other_methods_are_never_refused(width: int, data: st.DataObject) -> None:
    radius = data.draw(st.integers(0, width))
    for method in set(METHODS) - set(CLASSIC_METHODS):
        check_method(method, width, radius, 10**9)
    check_method("probe", width, min(radius, 1), 10**9)
