"""Find candidate pairs of texts on Spark, by SimHash fingerprints and by MinHash bands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simstore.fingerprint.minhash import BandLayout, band_values
from simstore.fingerprint.sketching import unpack_sketches
from simstore.search.block_keys import BlockKeys, first_keys
from simstore.search.hamming import verify
from simstore.search.resemblance import EdgeRule
from simstore.spark.groups import column, pairs_of_groups, spread

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

_BAND_COLUMNS = "band int, value bigint, text_id bigint, shingle_count bigint, fresh boolean"
_PAIR_COLUMNS = "first bigint, second bigint"


@dataclass(frozen=True, slots=True)
class NearPrints:
    """Compares fingerprints that share a key.

    Attributes:
        bits: M.
        radius: Bits, inclusive.
        keys: The keys.
    """

    bits: int
    radius: int
    keys: BlockKeys

    def columns(self) -> str:
        """Return the columns of a pair."""
        words = ("w0", "w1")[: self._word_count()]
        return ", ".join(f"{side}{word} bigint" for side in "ab" for word in words)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs within the radius, each once: at the first key in which it agrees."""
        yield from pairs_of_groups(batches, ("number", "value"), self._near)

    def words(self, rows: pa.RecordBatch) -> NDArray[np.uint64]:
        """Return the fingerprints of rows, shape (rows, words)."""
        columns = [column(rows, name) for name in ("w0", "w1")[: self._word_count()]]
        return np.stack(columns, axis=1).view(np.uint64)

    def masks(self) -> NDArray[np.uint64]:
        """Return the bits of each key, shape (keys, words)."""
        count = self._word_count()
        low = (1 << 64) - 1
        return np.array(
            [[mask >> 64 * (count - 1 - word) & low for word in range(count)]
             for mask in self.keys.masks()],
            np.uint64,
        )  # fmt: skip

    def _word_count(self) -> int:
        return (self.bits + 63) // 64

    def _near(self, rows: pa.RecordBatch, left: Any, right: Any) -> pa.RecordBatch | None:
        import pyarrow as pa

        words = self.words(rows)
        kept, _ = verify(words[left], words[right], self.radius)
        left, right = left[kept], right[kept]
        number = column(rows, "number")[left]
        here = first_keys(words[left] ^ words[right], self.masks()) == number
        left, right = left[here], right[here]
        if not len(left):
            return None
        names = ("w0", "w1")[: self._word_count()]
        held = {name: column(rows, name) for name in names}
        sides = (("a", left), ("b", right))
        return pa.RecordBatch.from_pydict(
            {f"{side}{name}": held[name][places] for side, places in sides for name in names}
        )


@dataclass(frozen=True, slots=True)
class AlikeInSize:
    """Yields the pairs of texts in a group whose sizes do not rule out an edge.

    Attributes:
        keys: Columns of the key of a group.
        rule: Of an edge.
    """

    keys: tuple[str, ...]
    rule: EdgeRule

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs, the smaller number first."""
        yield from pairs_of_groups(batches, self.keys, self._pairs)

    def _pairs(self, rows: pa.RecordBatch, left: Any, right: Any) -> pa.RecordBatch | None:
        import pyarrow as pa

        sizes = column(rows, "shingle_count")
        kept = self.rule.may_hold(sizes[left], sizes[right])
        ids = column(rows, "text_id")
        one, other = ids[left[kept]], ids[right[kept]]
        return pa.RecordBatch.from_pydict(
            {"first": np.minimum(one, other), "second": np.maximum(one, other)}
        )


def by_fingerprints(
    texts: DataFrame, near: NearPrints, rule: EdgeRule, cell_rows: int, count: int
) -> DataFrame:
    """Return the pairs of texts whose fingerprints are within the radius.

    Equal fingerprints are one: what is compared are distinct ones.

    Args:
        texts: With ``text_id``, ``w0``, perhaps ``w1``, ``shingle_count``, ``fresh``.
        near: How fingerprints are compared.
        rule: Of an edge.
        cell_rows: As of :func:`~.groups.spread`.
        count: Texts, roughly.
    """
    from pyspark.sql import functions as f

    words = ("w0", "w1")[: (near.bits + 63) // 64]
    slim = texts.select("text_id", *words, "shingle_count", "fresh")
    equal = spread(slim, words, ("text_id",), cell_rows, count).mapInArrow(
        AlikeInSize(words, rule), _PAIR_COLUMNS
    )
    prints = slim.groupBy(*words).agg(f.max("fresh").alias("fresh"))
    keys = []
    for number, mask in enumerate(near.masks().view(np.int64).tolist()):
        masked = [
            f.col(word).bitwiseAND(f.lit(bits)) for word, bits in zip(words, mask, strict=True)
        ]
        value = masked[0] if len(masked) == 1 else f.xxhash64(*masked)
        keys.append(f.struct(f.lit(number).alias("number"), value.alias("value")))
    keyed = prints.withColumn("key", f.explode(f.array(*keys))).select(
        "key.number", "key.value", *words, "fresh"
    )
    found = spread(keyed, ("number", "value"), words, cell_rows, count * len(keys)).mapInArrow(
        near, near.columns()
    )
    one, other = (
        slim.select(
            f.col("text_id").alias(f"{side}_id"),
            f.col("shingle_count").alias(f"{side}_size"),
            f.col("fresh").alias(f"{side}_fresh"),
            *(f.col(word).alias(f"{side}{word}") for word in words),
        )
        for side in "ab"
    )
    apart = (
        found.join(one, [f"a{word}" for word in words])
        .join(other, [f"b{word}" for word in words])
        # A fingerprint that is fresh to one text may be that of old ones too.
        .where(f.col("a_fresh") | f.col("b_fresh"))
        .where(_may_hold(f, rule))
        .select(f.least("a_id", "b_id").alias("first"), f.greatest("a_id", "b_id").alias("second"))
    )
    return equal.unionByName(apart)


def _may_hold(f: Any, rule: EdgeRule) -> Any:
    """Return the condition of :meth:`EdgeRule.may_hold`, a division of the same two numbers."""
    larger = f.greatest("a_size", "b_size", f.lit(1))
    ratio = f.least("a_size", "b_size").cast("double") / larger.cast("double")
    return ratio >= f.lit(rule.min_resemblance or 0.0)


@dataclass(frozen=True, slots=True)
class Bands:
    """Turns sketches into rows, one for each band.

    Attributes:
        layout: Of the bands.
        name: The column of the sketches.
    """

    layout: BandLayout
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the bands of texts."""
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            packed = batch.column(batch.schema.names.index(self.name)).to_pylist()
            values = band_values(unpack_sketches(packed), self.layout).view(np.int64)
            bands = self.layout.bands
            fields: dict[str, Any] = {
                "band": np.tile(np.arange(bands, dtype=np.int32), len(packed))
            }
            fields["value"] = values.ravel()
            for name in ("text_id", "shingle_count", "fresh"):
                fields[name] = np.repeat(column(batch, name), bands)
            yield pa.RecordBatch.from_pydict(fields)


def by_sketches(
    texts: DataFrame, bands: Bands, rule: EdgeRule, cell_rows: int, count: int
) -> DataFrame:
    """Return the pairs of texts whose sketches agree in a band; a pair may come several times.

    Args:
        texts: With ``text_id``, the column of sketches, ``shingle_count``, ``fresh``.
        bands: How the sketches are cut.
        rule: Of an edge.
        cell_rows: As of :func:`~.groups.spread`.
        count: Texts, roughly.
    """
    keys = ("band", "value")
    banded = texts.select("text_id", bands.name, "shingle_count", "fresh").mapInArrow(
        bands, _BAND_COLUMNS
    )
    return spread(banded, keys, ("text_id",), cell_rows, count * bands.layout.bands).mapInArrow(
        AlikeInSize(keys, rule), _PAIR_COLUMNS
    )
