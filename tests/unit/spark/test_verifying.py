"""Pairs that are ruled out by outlines, and texts that are compared with the hub before them."""

from __future__ import annotations

import numpy as np
import pytest

from simstore.spark.options import DedupOptions
from simstore.spark.verifying import EDGE_COLUMNS, Outline, Verify

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed (the extra spark)")

WORDS = [f"word{number}" for number in range(40)]


def test_an_outline_counts_no_fewer_equal_values_than_the_sketches_have() -> None:
    for share in (0, 0.25, 0.26, 1):
        for channel in ("minhash", "characters"):
            sketches = DedupOptions(channels=(channel,)).recipe().sketches()
            assert sketches is not None, (share, channel)
            kind, values = sketches.sketching.dtype, sketches.sketching.values
            equal = int(share * values)
            rng = np.random.default_rng(equal)
            one, other = rng.integers(0, np.iinfo(kind).max, (2, values), kind, endpoint=True)
            other[:equal] = one[:equal]
            facts = {name: [1, 2] for name in ("text_id", "feature_count", "w0", "w1")}
            packed = [row.tobytes() for row in (one, other)]
            batch = pa.RecordBatch.from_pydict(facts | {sketches.column: packed})
            [made] = Outline(sketches)([batch])
            names = made.schema.names[len(facts) :]
            assert names == [f"n{number}" for number in range(values // 16)], (share, channel)
            rows = np.array([made.column(name).to_pylist() for name in names], np.int64).T.copy()
            low = rows.view(np.uint8)
            nibbles = np.stack([low & 15, low >> 4], axis=2).reshape(2, -1)
            found = int(np.count_nonzero(nibbles[0] == nibbles[1]))
            assert found == int(np.count_nonzero((one & 15) == (other & 15))), (share, channel)
            assert found >= equal, (share, channel)


def rows(texts: list[tuple[int, int, str]]) -> pa.RecordBatch:
    """Rows of hub, text number and text, as they come to be verified."""
    return pa.RecordBatch.from_pydict(
        {
            "hub": [hub for hub, _, _ in texts],
            "text_id": [number for _, number, _ in texts],
            "is_member": [hub != number for hub, number, _ in texts],
            "text": [text for _, _, text in texts],
            "text_base64": pa.nulls(len(texts), pa.string()),
            "fewest_features": pa.array([None if h == n else 40 for h, n, _ in texts], pa.int64()),
            "distance": pa.array([None if h == n else 2 for h, n, _ in texts], pa.int32()),
            "by_fingerprint": [None if h == n else True for h, n, _ in texts],
            "by_sketch": [None if h == n else False for h, n, _ in texts],
        }
    )


def test_a_text_is_compared_with_its_hub_however_batches_are_cut() -> None:
    for cut in (0, 1, 2, 3, 4, 5, 6):
        near, far = " ".join([*WORDS[:-2], "other", "words"]), " ".join(WORDS[::-1])
        whole = " ".join(WORDS)
        texts = [(1, 1, whole), (1, 5, near), (1, 6, far), (2, 2, far), (2, 6, far), (2, 7, near)]
        batches = [rows(texts[:cut]), rows(texts[cut:])]
        found = list(Verify(DedupOptions().recipe())(batches))
        names = [column.split()[0] for column in EDGE_COLUMNS.split(", ")]
        assert all(batch.schema.names == names for batch in found), cut
        edges = [(row["first"], row["second"]) for batch in found for row in batch.to_pylist()]
        assert edges == [(1, 5), (2, 6)], cut
        [first, second] = [row for batch in found for row in batch.to_pylist()]
        assert first["distance"] == 2, cut
        assert 0.5 <= first["resemblance"] < second["resemblance"] == 1.0, cut
