"""The stars of a partition of edges."""

from __future__ import annotations

from typing import Any

import pytest

from simstore.spark.clusters import _stars

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed (the extra parquet)")


def edges(rows: list[tuple[int, int, float, int | None]]) -> Any:
    """Return edges of texts that are placed in the order of their numbers."""
    fields: dict[str, list[Any]] = {
        "first": [row[0] for row in rows],
        "second": [row[1] for row in rows],
        "resemblance": [row[2] for row in rows],
    }
    for side, column in (("first", 0), ("second", 1)):
        fields |= {f"{side}_{name}": [0] * len(rows) for name in ("major", "first_seen")}
        fields[f"{side}_place"] = [row[column] for row in rows]
    distances = pa.array([row[3] for row in rows], pa.int32())
    return pa.RecordBatch.from_pydict(fields | {"distance": distances})


def test_a_member_has_the_distance_of_its_edge_and_a_canonical_text_none() -> None:
    for cut in (0, 1, 2, 4):
        rows: list[tuple[int, int, float, int | None]] = [
            (3, 7, 0.6, 9), (3, 8, 0.7, None), (5, 7, 0.8, 2), (7, 8, 0.9, 1)
        ]  # fmt: skip
        [found] = _stars([edges(rows[:cut]), edges(rows[cut:])])
        assert found.to_pylist() == [
            {"text_id": 3, "centre": 3, "resemblance": 1.0, "distance": None},
            {"text_id": 5, "centre": 5, "resemblance": 1.0, "distance": None},
            {"text_id": 7, "centre": 5, "resemblance": 0.8, "distance": 2},
            {"text_id": 8, "centre": 3, "resemblance": 0.7, "distance": None},
        ], cut
