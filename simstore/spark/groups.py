"""Compare the pairs of rows that share a key; keys of many rows are split over several tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simstore.search.group_pairs import ALONE, group_pairs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# Rows whose keys are looked at to know which are crowded; all, where there are no more.
_SAMPLED_ROWS = 2_000_000
_CELL = "cell"
_SIDE = "side"
# More parts than this do not fit into the number of a cell.
_MOST_PARTS = 1 << 15

Compare = Callable[["pa.RecordBatch", Any, Any], "pa.RecordBatch | None"]


def spread(
    rows: DataFrame, keys: Sequence[str], identity: Sequence[str], cell_rows: int, row_count: int
) -> DataFrame:
    """Return rows so that all of a cell stand together in one partition, in order.

    A key that more than ``cell_rows`` rows have is cut into cells
    (:mod:`simstore.search.group_pairs`); which keys these are is looked up on a sample where there
    are many rows. Cutting changes no pair, so the sample changes no answer.

    Args:
        rows: With a boolean column ``fresh``.
        keys: Columns of the key.
        identity: Columns that tell one row of a key from another.
        cell_rows: Rows of a part.
        row_count: How many rows there are, roughly.
    """
    from pyspark.sql import functions as f

    share = max(1, row_count // _SAMPLED_ROWS)
    sampled = rows.where(f.pmod(f.xxhash64(*identity), f.lit(share)) == 0) if share > 1 else rows
    crowded = (
        sampled.groupBy(*keys)
        .agg((f.count(f.lit(1)) * share).alias("crowd"))
        .where(f.col("crowd") > cell_rows)
        .select(
            *keys,
            f.least(f.ceil(f.col("crowd") / cell_rows), f.lit(_MOST_PARTS))
            .cast("int")
            .alias("parts"),
        )
    )
    parts = f.coalesce(f.col("parts"), f.lit(1))
    own = f.pmod(f.xxhash64(*identity, f.lit(7)), parts).cast("int")
    dealt = (
        rows.join(f.broadcast(crowded), list(keys), "left")
        .select(*rows.columns, parts.alias("parts"), own.alias("own"))
        .withColumn("other", f.explode(f.sequence(f.lit(0), f.col("parts") - 1)))
        .withColumn(
            _CELL,
            f.least("own", "other") * _MOST_PARTS + f.greatest("own", "other"),
        )
        .withColumn(
            _SIDE,
            f.when(f.col("own") == f.col("other"), ALONE)
            .when(f.col("own") > f.col("other"), 1)
            .otherwise(0),
        )
        .drop("parts", "own", "other")
    )
    order: list[Any] = [*keys, _CELL, _SIDE, f.col("fresh").desc(), *identity]
    # With a number, or Spark joins partitions by their bytes, and few bytes may be many pairs.
    tasks = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    return dealt.repartition(tasks, *keys, _CELL).sortWithinPartitions(*order)


def pairs_of_groups(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], compare: Compare
) -> Iterator[pa.RecordBatch]:
    """Yield what comparing the pairs of each cell gives.

    Args:
        batches: Rows of :func:`spread`.
        keys: As there.
        compare: Given rows, and the rows of the one and of the other of some pairs, returns a batch
            of those that hold; None: none does.
    """
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        # A group may go on in the next batch: what is complete ends where the last group begins.
        begins = _beginnings(batch, keys)
        last = int(begins[-1]) if len(begins) else 0
        same = held and _same_key(held[-1], batch, keys)
        if last == 0 and same:
            held.append(batch)
            continue
        if same or last:
            if last:
                held.append(batch.slice(0, last))
            yield from _compared(_joined(pa, held), keys, compare)
            held = [batch.slice(last)]
        else:
            if held:
                yield from _compared(_joined(pa, held), keys, compare)
            held = [batch]
    if held:
        yield from _compared(_joined(pa, held), keys, compare)


def _joined(pa: Any, held: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(held) == 1:
        return held[0]
    table = pa.Table.from_batches(held).combine_chunks()
    return table.to_batches(max_chunksize=table.num_rows)[0]


def _compared(
    rows: pa.RecordBatch, keys: Sequence[str], compare: Compare
) -> Iterator[pa.RecordBatch]:
    starts = _beginnings(rows, keys)
    ends = np.append(starts[1:], rows.num_rows)
    sides, fresh = column(rows, _SIDE).astype(np.int8), column(rows, "fresh")
    for left, right in group_pairs(starts, ends, sides, fresh):
        found = compare(rows, left, right)
        if found is not None and found.num_rows:
            yield found


def _beginnings(batch: pa.RecordBatch, keys: Sequence[str]) -> Any:
    differs = np.zeros(batch.num_rows, np.bool_)
    differs[:1] = True
    for key in (*keys, _CELL):
        values = column(batch, key)
        differs[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(differs)


def _same_key(one: pa.RecordBatch, other: pa.RecordBatch, keys: Sequence[str]) -> bool:
    return all(column(one, key)[-1] == column(other, key)[0] for key in (*keys, _CELL))


def column(batch: pa.RecordBatch, name: str) -> Any:
    """Return a column of numbers or booleans as an array."""
    return batch.column(batch.schema.names.index(name)).to_numpy(zero_copy_only=False)
