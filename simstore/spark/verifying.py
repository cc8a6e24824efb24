"""Verify candidate pairs of texts: keep those that are similar enough as edges."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simstore.fingerprint.channels import WORD_SKETCHES
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.all_pairs import resemblances
from simstore.search.hamming import distances
from simstore.search.resemblance import size_ratios
from simstore.spark.groups import column
from simstore.spark.options import SKETCH_COLUMNS, Recipe
from simstore.spark.reading import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# Candidate pairs of texts, and which channels found them.
PAIR_COLUMNS = "first bigint, second bigint, by_fingerprint boolean, by_sketch boolean"
# Pairs of texts: number of the one and of the other, larger.
EDGE_COLUMNS = (
    "first bigint, second bigint, resemblance double, distance int, by_fingerprint boolean, "
    "by_sketch boolean"
)


@dataclass(frozen=True, slots=True)
class Verify:
    """Compares the texts of candidate pairs.

    Attributes:
        recipe: The rule.
    """

    recipe: Recipe

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs that have an edge."""
        for batch in batches:
            if batch.num_rows:
                yield self._verified(batch)

    def _verified(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        rule = self.recipe.rule()
        _, channels = self.recipe.open()
        first, second = column(batch, "first"), column(batch, "second")
        numbers: dict[int, int] = {}
        texts: list[str] = []
        for side, ids in (("a", first), ("b", second)):
            plain = batch.column(batch.schema.names.index(f"{side}_text")).to_pylist()
            coded = batch.column(batch.schema.names.index(f"{side}_text_base64")).to_pylist()
            for number, text, data in zip(ids.tolist(), plain, coded, strict=True):
                if number not in numbers:
                    numbers[number] = len(texts)
                    texts.append(text if data is None else _decoded(data))
        one, other = (
            np.array([numbers[number] for number in ids.tolist()], np.int64)
            for ids in (first, second)
        )
        sets = channels.sketching.sets(texts)
        share = resemblances(sets, one, other)
        sizes = sets.sizes()
        fewest = np.minimum(column(batch, "a_features"), column(batch, "b_features"))
        kept = rule.holds(share, size_ratios(sizes[one], sizes[other]), fewest)
        away = None
        if channels.has_fingerprints:
            words = ("w0", "w1")[: (self.recipe.scheme.bits + 63) // 64]
            left, right = (
                np.stack([column(batch, f"{side}_{word}") for word in words], axis=1)
                for side in "ab"
            )
            away = distances(left.view(np.uint64), right.view(np.uint64))[kept].astype(np.int32)
        return pa.RecordBatch.from_pydict(
            {
                "first": first[kept],
                "second": second[kept],
                "resemblance": share[kept],
                "distance": pa.nulls(int(kept.sum()), pa.int32()) if away is None else away,
                "by_fingerprint": column(batch, "by_fingerprint")[kept],
                "by_sketch": column(batch, "by_sketch")[kept],
            },
            schema=arrow_schema(EDGE_COLUMNS),
        )


@dataclass(frozen=True, slots=True)
class Likely:
    """Keeps the pairs whose sketches do not rule an edge out.

    Attributes:
        fewest_equal: Fewest equal values of two sketches.
    """

    fewest_equal: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs, ``PAIR_COLUMNS``."""
        import pyarrow as pa

        names = [name.split()[0] for name in PAIR_COLUMNS.split(", ")]
        for batch in batches:
            if not batch.num_rows:
                continue
            one, other = (
                unpack_sketches(batch.column(batch.schema.names.index(name)).to_pylist())
                for name in ("a_sketch", "b_sketch")
            )
            kept = np.count_nonzero(one == other, axis=1) >= self.fewest_equal
            yield batch.select(names).filter(pa.array(kept))


def likely(pairs: DataFrame, texts: DataFrame, recipe: Recipe) -> DataFrame:
    """Return the pairs of texts that may have an edge by their sketches; no text travels for it.

    A sketch is 256 bytes. Without sketches of words all pairs are returned.

    Args:
        pairs: Distinct, ``PAIR_COLUMNS``.
        texts: All texts, with ``text_id`` and the column of sketches.
        recipe: The rule.
    """
    from pyspark.sql import functions as f

    _, channels = recipe.open()
    fewest = recipe.rule().fewest_equal
    if not channels.has_word_sketches or not fewest:
        return pairs
    for side, number in (("a", "first"), ("b", "second")):
        sketches = texts.select(
            f.col("text_id").alias(number),
            f.col(SKETCH_COLUMNS[WORD_SKETCHES]).alias(f"{side}_sketch"),
        )
        pairs = pairs.join(sketches, number)
    return pairs.mapInArrow(Likely(fewest), PAIR_COLUMNS)


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode("utf-8", "surrogateescape")


def verified(pairs: DataFrame, texts: DataFrame, documents: DataFrame, recipe: Recipe) -> DataFrame:
    """Return the edges among pairs of texts.

    Args:
        pairs: Distinct, ``PAIR_COLUMNS``.
        texts: All texts, with ``text_id``, ``holder``, ``feature_count``, ``w0``, ``w1``.
        documents: All documents, with ``place``, ``text``, ``text_base64``.
        recipe: The rule.
    """
    from pyspark.sql import functions as f

    needed = pairs.select(f.explode(f.array("first", "second")).alias("text_id")).distinct()
    contents = (
        texts.select("text_id", "holder", "feature_count", "w0", "w1")
        .join(needed, "text_id", "left_semi")
        .join(documents.select(f.col("place").alias("holder"), "text", "text_base64"), "holder")
        .drop("holder")
    )

    def side(name: str, number: str) -> DataFrame:
        return contents.select(
            f.col("text_id").alias(number),
            f.col("text").alias(f"{name}_text"),
            f.col("text_base64").alias(f"{name}_text_base64"),
            f.col("feature_count").alias(f"{name}_features"),
            f.col("w0").alias(f"{name}_w0"),
            f.col("w1").alias(f"{name}_w1"),
        )

    joined = pairs.join(side("a", "first"), "first").join(side("b", "second"), "second")
    return joined.mapInArrow(Verify(recipe), EDGE_COLUMNS)
