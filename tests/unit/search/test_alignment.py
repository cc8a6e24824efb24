from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore.search.alignment import (
    Stretch,
    aligned,
    chained,
    exact_runs,
    stretched,
)
from simstore.search.symbols import STRANGER, Alphabet

TEXTS = st.text("abcd", max_size=30)


def symbols(paper, source):
    hashes = [np.array([ord(c) for c in text], np.uint64) for text in (paper, source)]
    alphabet = Alphabet(hashes[0])
    return alphabet.symbols(hashes[0]), alphabet.symbols(hashes[1])


def test_units_that_the_paper_has_not_are_strangers():
    paper, source = symbols("abc", "axcb")
    assert source.text == paper.text[0] + STRANGER + paper.text[2] + paper.text[1]


def test_symbols_of_an_empty_paper_are_strangers():
    assert symbols("", "ab")[1].text == STRANGER * 2


def test_more_units_than_characters_below_the_surrogates_have_symbols():
    hashes = np.arange(1, 70_000, dtype=np.uint64)
    made = Alphabet(hashes).symbols(hashes)
    assert len(set(made.text)) == len(hashes) == len(made.text)
    made.text.encode("utf-8")


@given(TEXTS, TEXTS)
def test_aligned_blocks_are_a_longest_common_subsequence(first, second):
    blocks = aligned(first, second)
    assert all(first[p : p + n] == second[s : s + n] for p, s, n in blocks)
    assert all(p + n <= q and s + n <= t for (p, s, n), (q, t, _) in pairwise(blocks))
    assert sum(block[2] for block in blocks) == longest_common(first, second)


def longest_common(first, second):
    row = [0] * (len(second) + 1)
    for a in first:
        row = [0] + [max(row[n + 1], row[n] + (a == b)) for n, b in enumerate(second)]
        for n in range(1, len(row)):
            row[n] = max(row[n], row[n - 1])
    return row[-1]


@given(TEXTS, TEXTS, st.data())
def test_exact_runs_are_those_of_plain_loops(first, second, data):
    places = [(a, b) for a in range(len(first)) for b in range(len(second))]
    seeds = data.draw(st.lists(st.sampled_from(places), max_size=8)) if places else []
    expected = set()
    for place, other in seeds:
        if first[place] != second[other]:
            continue
        start, end = 0, 0
        while (
            place + start > 0
            and other + start > 0
            and first[place + start - 1] == second[other + start - 1]
        ):
            start -= 1
        while (
            place + end < len(first)
            and other + end < len(second)
            and first[place + end] == second[other + end]
        ):
            end += 1
        expected.add((place + start, other + start, end - start))
    assert exact_runs(*symbols(first, second), seeds) == sorted(expected)


def test_long_runs_are_followed_to_their_ends():
    first, second = "x" + "ab" * 500 + "y", "zz" + "ab" * 500 + "w"
    assert exact_runs(*symbols(first, second), [(500, 501)]) == [(1, 2, 1000)]


def test_runs_with_a_short_gap_are_one_chain():
    assert chained([(0, 0, 10), (12, 11, 10)], 0.5) == [[(0, 0, 10), (12, 11, 10)]]


def test_runs_with_a_long_gap_are_two_chains():
    assert len(chained([(0, 0, 10), (60, 60, 10)], 0.5)) == 2


def test_a_gap_that_costs_more_than_a_run_brings_is_not_crossed():
    assert len(chained([(0, 0, 50), (70, 70, 5)], 0.5)) == 2


def test_runs_out_of_order_are_two_chains():
    assert len(chained([(0, 20, 10), (10, 0, 10)], 0.5)) == 2


def test_what_overlaps_in_the_source_counts_once():
    assert chained([(0, 0, 10), (12, 8, 10)], 0.5) == [[(0, 0, 10), (14, 10, 8)]]


def test_a_stretch_goes_on_over_an_edited_end():
    paper, source = symbols("....abcdefgh1jklm----", "####abcdefghijklm++++")
    (run,) = exact_runs(paper, source, [(4, 4)])
    assert run == (4, 4, 8)
    stretch = stretched(paper, source, [run], 0.5)
    assert (stretch.paper_first, stretch.paper_end) == (4, 17)
    assert stretch.blocks == ((4, 4, 8), (13, 13, 4))
    assert stretch.similarity == pytest.approx(24 / 26)


def test_a_stretch_goes_back_over_an_edited_beginning():
    paper, source = symbols("....ab2defghijklm----", "####abcdefghijklm++++")
    stretch = stretched(paper, source, [(7, 7, 10)], 0.5)
    assert stretch.blocks == ((4, 4, 2), (7, 7, 10))


@given(TEXTS, TEXTS, st.data(), st.sampled_from([0.4, 0.5, 0.8]))
def test_stretches_are_in_order_verbatim_and_similar_enough(first, second, data, least):
    places = [(a, b) for a, x in enumerate(first) for b, y in enumerate(second) if x == y]
    seeds = data.draw(st.lists(st.sampled_from(places), max_size=6)) if places else []
    paper, source = symbols(first, second)
    runs = exact_runs(paper, source, seeds)
    chains = chained(runs, least)
    assert sum(len(chain) for chain in chains) <= len(runs)
    for chain in chains:
        stretch = stretched(paper, source, chain, least)
        for (p, s, n), (q, t, _) in pairwise(stretch.blocks):
            assert p + n <= q
            assert s + n <= t
        assert all(first[p : p + n] == second[s : s + n] and n for p, s, n in stretch.blocks)
        assert stretch.similarity >= least - 1e-9


def test_similarity_is_of_units_in_common():
    assert Stretch(((0, 0, 3), (4, 3, 2))).similarity == pytest.approx(10 / 11)


def test_units_are_told_apart_whatever_bits_their_hashes_share():
    rng = np.random.default_rng(3)
    for hashes in (
        rng.integers(0, 1 << 63, 3_000, dtype=np.uint64),
        np.arange(3_000, dtype=np.uint64) << np.uint64(40),
        # None of the bits that are tried tells all of these apart.
        np.append(np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0)),
    ):
        asked = np.concatenate((hashes, rng.integers(0, 1 << 63, 3_000, dtype=np.uint64)))
        made = Alphabet(hashes).symbols(asked)
        expected = {value: number for number, value in enumerate(sorted(hashes.tolist()), 1)}
        assert made.codes.tolist() == [expected.get(value, 0) for value in asked.tolist()]
