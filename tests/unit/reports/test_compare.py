from __future__ import annotations

import csv
import io
import json

from simstore.model import ComparedText, Comparison, Measurement
from simstore.reports.compare import (
    COLUMNS,
    TEXT_COLUMNS,
    measure_rows,
    render_csv,
    render_jsonl,
    text_rows,
)

COMPARISON = Comparison(
    ComparedText(
        name='a, "b"',
        byte_count=10,
        character_count=9,
        shingle_count=5,
        distinct_shingles=4,
        feature_count=3,
        distinct_features=2,
    ),
    ComparedText(
        name="caf\udce9\n",
        byte_count=20,
        character_count=19,
        shingle_count=15,
        distinct_shingles=14,
        feature_count=13,
        distinct_features=12,
    ),
    (
        Measurement("md5", {"equal": False, "a": "00ff", "b": "ff00"}, "of bytes", 0.000123456),
        Measurement("simhash-64", {"distance": 3, "min_max_ratio": 0.123456}, "64 bits", 0.5),
        Measurement("i-match", {"equal": None, "agreeing": 0}, "no store", 0.0),
    ),
    True,
)


def test_rows_of_the_table() -> None:
    assert text_rows(COMPARISON) == [
        ("A", 'a, "b"', 10, 9, 5, 4, 3, 2),
        ("B", "caf\\xe9\\n", 20, 19, 15, 14, 13, 12),
    ]
    rows = measure_rows(COMPARISON)
    assert rows == [
        ("exact digest, MD5", "equal", "no", "of bytes", "0.12"),
        ("", "A", "00ff", "", ""),
        ("", "B", "ff00", "", ""),
        ("SimHash, 64 bits", "distance", "3", "64 bits", "500.00"),
        ("", "min/max ratio", "0.1235", "", ""),
        ("I-Match", "equal", "-", "no store", "0.00"),
        ("", "agreeing", "0", "", ""),
    ]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert {len(row) for row in text_rows(COMPARISON)} == {len(TEXT_COLUMNS)}


def test_rounding_makes_nothing_equal_that_is_not() -> None:
    for value, shown in [
        (1.0, "1.0000"),
        (0.99999, "< 1"),
        (0.9999, "0.9999"),
        (0.0, "0.0000"),
        (1e-9, "> 0"),
        (1.00001, "> 1"),
        (12.34567, "12.3457"),
        (3, "3"),
        (True, "yes"),
        (None, "-"),
    ]:
        text = COMPARISON.first
        rows = measure_rows(
            Comparison(text, text, (Measurement("md5", {"x": value}, "", 0),), None)
        )
        assert rows[0][2] == shown


def test_jsonl_has_a_line_for_the_texts_and_one_an_algorithm() -> None:
    text = b"".join(render_jsonl(COMPARISON)).decode()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["algorithm"] for line in lines] == ["texts", "md5", "simhash-64", "i-match"]
    assert {(line["a"], line["b"]) for line in lines} == {('a, "b"', "caf\\xe9\\n")}
    assert lines[0]["values"]["b"] == {
        "byte_count": 20, "character_count": 19, "shingle_count": 15, "distinct_shingles": 14,
        "feature_count": 13, "distinct_features": 12, "flags": [], "folded": [],
    }  # fmt: skip
    assert lines[2]["values"] == {"distance": 3, "min_max_ratio": 0.123456}
    assert lines[3]["values"] == {"equal": None, "agreeing": 0}
    assert lines[1]["seconds"] == 0.000123456
    assert lines[1]["detail"] == "of bytes"


def test_csv_has_a_row_a_measure() -> None:
    text = b"".join(render_csv(COMPARISON)).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["algorithm"], row["measure"], row["value"]) for row in rows] == [
        ("md5", "equal", "false"), ("md5", "a", "00ff"), ("md5", "b", "ff00"),
        ("simhash-64", "distance", "3"), ("simhash-64", "min_max_ratio", "0.123456"),
        ("i-match", "equal", ""), ("i-match", "agreeing", "0"),
    ]  # fmt: skip
    assert {row["a"] for row in rows} == {'a, "b"'}
    assert rows[0]["seconds"] == "0.000123456"
