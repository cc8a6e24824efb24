"""Find candidate pairs on Spark: texts that share a band of sketches or a key of fingerprints.

Texts that share a key are a group. A group of m texts has m * m / 2 pairs, but the pairs that
matter lead to canonical texts. So each text is paired first with the text that leads most of its
groups (:func:`leader_pairs`), and then only the texts that turned out canonical, with all of their
groups (:func:`asked_pairs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simstore.fingerprint.minhash import band_values
from simstore.fingerprint.simhash import word_count
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.block_keys import BlockKeys
from simstore.search.resemblance import EdgeRule
from simstore.spark.options import Sketches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# More parts than this a group is not cut into.
_MOST_PARTS = 1 << 15
_BAND_COLUMNS = "band int, value bigint, text_id bigint, shingle_count bigint"
_ROW = ("text_id", "shingle_count", "w0", "w1")


def column(batch: pa.RecordBatch, name: str) -> Any:
    """Return a column of numbers or booleans as an array."""
    return batch.column(batch.schema.names.index(name)).to_numpy(zero_copy_only=False)


def word_columns(bits: int) -> tuple[str, ...]:
    """Return the columns that hold the words of a fingerprint of M bits."""
    return ("w0", "w1")[: word_count(bits)]


@dataclass(frozen=True, slots=True)
class Bands:
    """Turns sketches into rows, one for each band.

    Attributes:
        sketches: What they are.
    """

    sketches: Sketches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the bands of texts."""
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            of, bands = self.sketches, self.sketches.layout.bands
            packed = batch.column(batch.schema.names.index(of.column)).to_pylist()
            made = unpack_sketches(packed, of.sketching)
            values = band_values(made, of.layout).view(np.int64)
            fields: dict[str, Any] = {
                "band": np.tile(np.arange(bands, dtype=np.int32), len(packed))
            }
            fields["value"] = values.ravel()
            for name in ("text_id", "shingle_count"):
                fields[name] = np.repeat(column(batch, name), bands)
            yield pa.RecordBatch.from_pydict(fields)


@dataclass(frozen=True, slots=True)
class NearPrints:
    """The keys of fingerprints of M bits, and how far apart two may be.

    Attributes:
        bits: M.
        radius: Bits, inclusive.
        keys: The keys.
    """

    bits: int
    radius: int
    keys: BlockKeys

    def words(self) -> tuple[str, ...]:
        """Return the columns of a fingerprint."""
        return word_columns(self.bits)


def banded(texts: DataFrame, sketches: Sketches) -> DataFrame:
    """Return a row of each text and band: its key, and what tells pairs.

    Args:
        texts: With ``text_id``, the column of sketches and ``shingle_count``.
        sketches: Their sketches, and how these are cut.
    """
    from pyspark.sql import functions as f

    name = sketches.column
    rows = texts.select("text_id", name, "shingle_count").mapInArrow(Bands(sketches), _BAND_COLUMNS)
    none = f.lit(None).cast("bigint")
    return rows.withColumns({"w0": none, "w1": none}).select(
        f.xxhash64(f.lit(name), "band", "value").alias("key"), *_ROW
    )


def keyed(texts: DataFrame, near: NearPrints) -> DataFrame:
    """Return a row of each text and key of its fingerprint, as :func:`banded` does of bands."""
    from pyspark.sql import functions as f

    words = near.words()
    keys = []
    for number, mask in enumerate(near.keys.mask_words().view(np.int64).tolist()):
        masked = [
            f.col(word).bitwiseAND(f.lit(bits)) for word, bits in zip(words, mask, strict=True)
        ]
        keys.append(f.xxhash64(f.lit(number), *masked))
    return texts.select(f.explode(f.array(*keys)).alias("key"), *_ROW)


def groups(rows: DataFrame) -> DataFrame:
    """Return the rows of those groups that have two texts or more.

    Each has the number of the group's texts as ``crowd``, and its first text as ``leader``.

    Args:
        rows: Of :func:`banded` and :func:`keyed`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_key = Window.partitionBy("key")
    return rows.withColumns(
        {
            "crowd": f.count(f.lit(1)).over(of_key),
            "leader": f.min(f.struct(*_ROW)).over(of_key),
        }
    ).where("crowd > 1")


def leader_pairs(grouped: DataFrame, rule: EdgeRule, near: NearPrints | None) -> DataFrame:
    """Return at most one pair a text, with the text that leads the most of its groups.

    Args:
        grouped: Of :func:`groups`.
        rule: Of an edge.
        near: How fingerprints are compared; None: not at all.
    """
    from pyspark.sql import functions as f

    led = (
        grouped.select(
            *(f.col(name).alias(f"b_{name}") for name in _ROW),
            *(f.col(f"leader.{name}").alias(f"a_{name}") for name in _ROW),
        )
        .where("a_text_id != b_text_id")
        .where(_may_be_edge(rule, near))
        .groupBy("b_text_id", "a_text_id")
        .agg(f.count(f.lit(1)).alias("shared"), f.max(f.col("a_w0").isNull()).alias("by_sketch"))
    )
    best = led.groupBy("b_text_id").agg(
        f.max(f.struct("shared", (-f.col("a_text_id")).alias("turned"), "by_sketch")).alias("best")
    )
    # A leader has the least number of its group.
    return best.select(
        (-f.col("best.turned")).alias("first"),
        f.col("b_text_id").alias("second"),
        f.col("best.by_sketch").alias("by_sketch"),
    )


def asked_pairs(
    grouped: DataFrame, asked: DataFrame, rule: EdgeRule, near: NearPrints | None, cell_rows: int
) -> DataFrame:
    """Return the pairs of texts that are asked for with all texts of their groups, each once.

    Args:
        grouped: Of :func:`groups`.
        asked: Those of its rows whose texts are asked for.
        rule: Of an edge.
        near: How fingerprints are compared; None: not at all.
        cell_rows: A larger group is cut into so many parts that no task has more rows of one.
    """
    from pyspark.sql import functions as f

    parts = f.least(f.ceil(f.col("crowd") / cell_rows), f.lit(_MOST_PARTS)).cast("int")
    one = asked.select(
        "key",
        f.pmod(f.xxhash64("text_id", f.lit(7)), parts).cast("int").alias("part"),
        *(f.col(name).alias(f"a_{name}") for name in _ROW),
    )
    other = grouped.select(
        "key",
        f.explode(f.sequence(f.lit(0), parts - 1)).alias("part"),
        *(f.col(name).alias(f"b_{name}") for name in _ROW),
    )
    return (
        one.join(other, ["key", "part"])
        .where("a_text_id != b_text_id")
        .where(_may_be_edge(rule, near))
        .groupBy(
            f.least("a_text_id", "b_text_id").alias("first"),
            f.greatest("a_text_id", "b_text_id").alias("second"),
        )
        .agg(f.max(f.col("a_w0").isNull()).alias("by_sketch"))
    )


def distance_of(one: str, other: str, words: Iterable[str]) -> Any:
    """Return the column of the distance of two fingerprints, whose columns have these prefixes."""
    from pyspark.sql import functions as f

    found = f.lit(0)
    for word in words:
        found = found + f.bit_count(f.col(f"{one}{word}").bitwiseXOR(f.col(f"{other}{word}")))
    return found


def _may_be_edge(rule: EdgeRule, near: NearPrints | None) -> Any:
    """Return the condition of :meth:`EdgeRule.may_hold`, and of the radius where it matters."""
    from pyspark.sql import functions as f

    larger = f.greatest("a_shingle_count", "b_shingle_count", f.lit(1))
    smaller = f.least("a_shingle_count", "b_shingle_count")
    ratio = smaller.cast("double") / larger.cast("double")
    held = ratio >= f.lit(rule.min_resemblance or 0.0)
    if near is None:
        return held
    within = distance_of("a_", "b_", near.words()) <= near.radius
    return held & (f.col("a_w0").isNull() | within)
