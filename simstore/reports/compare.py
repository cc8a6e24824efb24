"""Render the comparison of two texts as table rows, JSON Lines and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from simstore.errors import printable
from simstore.reports.lines import csv_line, to_json

if TYPE_CHECKING:
    from simstore.model import Comparison

TEXT_COLUMNS = ("", "text", "bytes", "characters", "shingles", "distinct", "features", "distinct")
COLUMNS = ("algorithm", "measure", "value", "detail", "ms")
CSV_COLUMNS = ("a", "b", "algorithm", "measure", "value", "detail", "seconds")
_TITLES = {
    "blake2b": "exact digest, BLAKE2b",
    "md5": "exact digest, MD5",
    "resemblance": "shingle resemblance",
    "containment": "shingle containment",
    "minhash": "MinHash",
    "characters": "runs of characters",
    "i-match": "I-Match",
    "counting-bloom": "counting Bloom filter",
    "cosine": "term vectors, cosine",
    "euclid": "term vectors, Euclid",
    "store-simhash": "the store's SimHash",
    "store-resemblance": "the store's shingles",
}
_MEASURES = {
    "a": "A",
    "b": "B",
    "a_in_b": "A in B",
    "b_in_a": "B in A",
    "min_max_ratio": "min/max ratio",
    "dice_of_lists": "dice of lists",
    "one_word_apart": "one word apart",
    "standard_error": "standard error",
}


def text_rows(comparison: Comparison) -> list[tuple[str | int, ...]]:
    """Return a row a text: letter, name, and the sizes of :data:`TEXT_COLUMNS`."""
    return [
        (
            letter,
            printable(text.name),
            text.byte_count,
            text.character_count,
            text.shingle_count,
            text.distinct_shingles,
            text.feature_count,
            text.distinct_features,
        )
        for letter, text in (("A", comparison.first), ("B", comparison.second))
    ]


def measure_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row a measure, for people: values are rounded; the first row has the time."""
    rows: list[tuple[str, ...]] = []
    for found in comparison.measurements:
        title, detail = _title(found.algorithm), found.detail
        milliseconds = f"{found.seconds * 1000:.2f}"
        for name, value in found.values.items():
            rows.append((title, _MEASURES.get(name, name), _shown(value), detail, milliseconds))
            title = detail = milliseconds = ""
    return rows


def render_jsonl(comparison: Comparison) -> Iterator[bytes]:
    """Yield one JSON object an algorithm, with its measures; the first line tells the sizes."""
    names = {"a": printable(comparison.first.name), "b": printable(comparison.second.name)}
    sizes = {"a": asdict(comparison.first), "b": asdict(comparison.second)}
    for size in sizes.values():
        del size["name"]
        for place in size["folded"]:
            place["given"] = printable(place["given"])
            place["compared"] = printable(place["compared"])
    yield _line({**names, "algorithm": "texts", "values": sizes})
    for found in comparison.measurements:
        yield _line(
            {
                **names,
                "algorithm": found.algorithm,
                "values": dict(found.values),
                "detail": found.detail,
                "seconds": round(found.seconds, 9),
            }
        )


def render_csv(comparison: Comparison) -> Iterator[bytes]:
    """Yield a header and one row a measure; an undefined measure has an empty value."""
    yield csv_line(CSV_COLUMNS)
    names = printable(comparison.first.name), printable(comparison.second.name)
    for found in comparison.measurements:
        for name, value in found.values.items():
            shown = str(value).lower() if isinstance(value, bool) else value
            seconds = f"{found.seconds:.9f}"
            yield csv_line((*names, found.algorithm, name, shown, found.detail, seconds))


def _title(algorithm: str) -> str:
    if algorithm.startswith("simhash-"):
        return f"SimHash, {algorithm.removeprefix('simhash-')} bits"
    return _TITLES[algorithm]


def _shown(value: float | int | bool | str | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        shown = f"{value:.4f}"
        # What is not all shall not look like it, nor what is not nothing.
        if value not in (0, 1) and shown in ("0.0000", "1.0000"):
            return "< 1" if 0.5 < value < 1 else "> 1" if value > 1 else "> 0"
        return shown
    return str(value)


def _line(record: dict[str, object]) -> bytes:
    return to_json(record).encode() + b"\n"
