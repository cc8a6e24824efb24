"""Candidates that are ruled out by their sketches, before their texts are read."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.fingerprint.minhash import VALUES
from simstore.search.resemblance import fewest_equal_values
from simstore.spark.verifying import PAIR_COLUMNS, Likely

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed (the extra spark)")

FEWEST = fewest_equal_values(0.5)


def batch(equal: list[int]) -> pa.RecordBatch:
    """A pair for each number of equal values."""
    one = np.arange(VALUES, dtype=np.uint16)[None].repeat(len(equal), axis=0)
    other = one + np.uint16(1000)
    for row, count in enumerate(equal):
        other[row, :count] = one[row, :count]
    return pa.RecordBatch.from_pydict(
        {
            "second": list(range(100, 100 + len(equal))),
            "first": list(range(len(equal))),
            "by_fingerprint": [False] * len(equal),
            "by_sketch": [True] * len(equal),
            "a_sketch": [row.astype("<u2").tobytes() for row in one],
            "b_sketch": [row.astype("<u2").tobytes() for row in other],
        }
    )


def test_pairs_below_the_fewest_equal_values_are_left_out() -> None:
    assert 0 < FEWEST < VALUES
    [kept] = Likely(FEWEST)([batch([0, FEWEST - 1, FEWEST, VALUES])])
    assert kept.schema.names == [name.split()[0] for name in PAIR_COLUMNS.split(", ")]
    assert kept.to_pydict()["first"] == [2, 3]
    assert kept.to_pydict()["second"] == [102, 103]


def test_empty_batches_give_nothing() -> None:
    assert sum(one.num_rows for one in Likely(FEWEST)([batch([]), batch([0])])) == 0
