"""Counts summed term by term, compiled and plain."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstore import compiled
from simstore.storage import deltas
from simstore.storage.deltas import TermSums

forms = pytest.mark.parametrize(
    "form",
    [
        "plain",
        pytest.param(
            "compiled", marks=pytest.mark.skipif(find_spec("numba") is None, reason="no Numba")
        ),
    ],
)
# Few letters, so that terms come again; zero bytes and empty terms too.
changes = st.lists(
    st.tuples(st.binary(max_size=3) | st.text("ab", max_size=12).map(str.encode),
              st.integers(-3, 3), st.integers(-9, 9)), max_size=30
)  # fmt: skip


def added(sums: TermSums, part: list[tuple[bytes, int, int]]) -> None:
    terms = [term for term, _, _ in part]
    counts = np.array([row[1:] for row in part], np.int64).reshape(-1, 2)
    sums.add(terms, counts[:, 0], counts[:, 1])


@forms
@given(parts=st.lists(changes, max_size=5), most=st.sampled_from([0, 7, 1_000]))
def test_sums_are_those_of_a_counter(
    form: str, parts: list[list[tuple[bytes, int, int]]], most: int
) -> None:
    documents: Counter[bytes] = Counter()
    totals: Counter[bytes] = Counter()
    compiled.enable(0) if form == "compiled" else compiled.disable()
    held, deltas._HELD_TERMS = deltas._HELD_TERMS, most
    try:
        sums = TermSums()
        for part in parts:
            added(sums, part)
            for term, of_documents, total in part:
                documents[term] += of_documents
                totals[term] += total
        expected = {
            term: (documents[term], totals[term])
            for term in documents
            if documents[term] or totals[term]
        }
        assert sums.sums() == expected
        if len(parts) > 1:
            data, ends, of_documents, of_all = sums.packed()
            terms = [data[first:end] for first, end in pairwise(ends.tolist())]
            assert len(terms) == len(set(terms)) == len(documents)
            assert dict(zip(terms, of_documents.tolist(), strict=True)) == documents
            assert dict(zip(terms, of_all.tolist(), strict=True)) == totals
    finally:
        deltas._HELD_TERMS = held
        compiled.enable()
