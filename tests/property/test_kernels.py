"""The compiled kernels give what the NumPy forms give, and both what a plain loop gives."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore.fingerprint import kernels
from simstore.fingerprint.simhash import fingerprints, to_integers
from simstore.fingerprint.simtool import SimtoolScheme
from simstore.fingerprint.web import WebScheme

from .strategies import any_text, usual_bits

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")


@pytest.fixture(autouse=True)
def _default_kernels() -> Iterator[None]:
    yield
    kernels.enable()


@st.composite
def weighted_features(draw: st.DrawFn) -> tuple[list[list[tuple[int, int]]], list[list[int]]]:
    """Return (row, weight) of each feature of each document, and the signs of each row."""
    bits = draw(usual_bits)
    generator = draw(st.randoms(use_true_random=False))
    signs = [
        [generator.choice((-1, 1)) for _ in range(bits)] for _ in range(draw(st.integers(1, 6)))
    ]
    weight = st.one_of(st.integers(1, 5), st.integers(1, 2**26), st.integers(1, 2**45))
    entry = st.tuples(st.integers(0, len(signs) - 1), weight)
    return draw(st.lists(st.lists(entry, max_size=6), max_size=5)), signs


def by_plain_loop(
    documents: list[list[tuple[int, int]]], signs: list[list[int]], tie: int
) -> list[int]:
    made = []
    for entries in documents:
        value = 0
        for bit in range(len(signs[0])):
            total = sum(weight * signs[row][bit] for row, weight in entries)
            value = 2 * value + (1 if total > 0 or (total == 0 and tie) else 0)
        made.append(value)
    return made


def by_product(
    documents: list[list[tuple[int, int]]], signs: list[list[int]], tie: int
) -> list[int]:
    entries = [entry for document in documents for entry in document]
    made = fingerprints(
        np.cumsum([0, *map(len, documents)]).astype(np.int64),
        np.array([row for row, _ in entries], np.int64),
        np.array([weight for _, weight in entries], np.int64),
        np.array(signs, np.int8),
        tie,
    )
    assert made.dtype == np.uint64
    assert made.shape == (len(documents), (len(signs[0]) + 63) // 64)
    return to_integers(made)


@given(weighted_features(), st.sampled_from([0, 1]))
def test_numpy_form_equals_a_plain_loop(
    given_: tuple[list[list[tuple[int, int]]], list[list[int]]], tie: int
) -> None:
    kernels.disable()
    documents, signs = given_
    assert by_product(documents, signs, tie) == by_plain_loop(documents, signs, tie)


@needs_numba
@given(weighted_features(), st.sampled_from([0, 1]))
def test_compiled_form_equals_a_plain_loop(
    given_: tuple[list[list[tuple[int, int]]], list[list[int]]], tie: int
) -> None:
    kernels.enable(0)
    documents, signs = given_
    assert by_product(documents, signs, tie) == by_plain_loop(documents, signs, tie)


@needs_numba
@given(st.lists(any_text, max_size=4), st.sampled_from([64, 100]))
def test_schemes_give_the_same_compiled_or_not(texts: list[str], bits: int) -> None:
    made = []
    for switch in (kernels.disable, lambda: kernels.enable(0)):
        switch()
        web, simtool = WebScheme(bits), SimtoolScheme(20, bits)
        counts = simtool.count(texts)
        ranks = np.arange(len(counts.terms), dtype=np.int64) % 21 - 1
        made.append(
            (
                to_integers(web.fingerprints(web.count(texts))),
                to_integers(simtool.fingerprints(counts, ranks)),
            )
        )
    assert made[0] == made[1]


@needs_numba
def test_compiled_form_is_used_from_the_threshold_on() -> None:
    arguments = (
        np.array([0, 2], np.int64),
        np.array([0, 1], np.int64),
        np.array([3, 2], np.int64),
        np.array([[1, -1, 1], [-1, -1, 1]], np.int8),
        0,
    )
    kernels.enable(3)
    assert kernels.signed_sums_positive(*arguments) is None
    kernels.enable(2)
    made = kernels.signed_sums_positive(*arguments)
    assert made is not None
    assert made.tolist() == [[True, False, True]]
    kernels.disable()
    assert kernels.signed_sums_positive(*arguments) is None
