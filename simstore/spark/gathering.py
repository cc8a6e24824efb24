"""Stars of verified edges, component by component."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simstore.search.stars import star_clusters
from simstore.spark.groups import column
from simstore.spark.reading import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# A text, and the canonical text of its star; a canonical text is its own.
STAR_COLUMNS = "text_id bigint, centre bigint"
_PLACE = ("major", "first_seen", "place")


def stars(edges: DataFrame, orders: DataFrame, labels: DataFrame) -> DataFrame:
    """Return the star of each text that has an edge, ``STAR_COLUMNS``.

    Components divide the work: whole ones stand in a partition.

    Args:
        edges: ``first`` and ``second``.
        orders: ``text_id`` with its place in the policy's order: ``major``, ``first_seen``,
            ``place``, compared in this order.
        labels: ``vertex`` and ``component``.
    """
    from pyspark.sql import functions as f

    placed = edges.join(labels.withColumnRenamed("vertex", "first"), "first").select(
        "component", "first", "second"
    )
    for side in ("first", "second"):
        of_side = orders.select(
            f.col("text_id").alias(side), *(f.col(name).alias(f"{side}_{name}") for name in _PLACE)
        )
        placed = placed.join(of_side, side)
    return placed.repartition("component").mapInArrow(_stars, STAR_COLUMNS)


def _stars(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    # The components of a partition, all at once: an edge takes 64 bytes.
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    sides = [
        np.concatenate(
            [
                np.stack([column(batch, name) for name in (side, *_names(side))], axis=1)
                for batch in held
            ]
        )
        for side in ("first", "second")
    ]
    vertices, places = np.unique(
        np.concatenate([side[:, 0] for side in sides]), return_inverse=True
    )
    order = np.empty((len(vertices), len(_PLACE)), np.int64)
    order[places] = np.concatenate([side[:, 1:] for side in sides])
    first, second = places[: len(sides[0])], places[len(sides[0]) :]
    earliest = np.lexsort(order.T[::-1])
    centres = star_clusters(first, second, earliest)
    yield pa.RecordBatch.from_pydict(
        {"text_id": vertices, "centre": vertices[centres]}, schema=arrow_schema(STAR_COLUMNS)
    )


def _names(side: str) -> list[str]:
    return [f"{side}_{name}" for name in _PLACE]
