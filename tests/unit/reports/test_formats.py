from __future__ import annotations

import base64
import csv
import io
import json

from simstore.model import Match, SampleResult
from simstore.reports.formats import RENDERERS

SAMPLES = (
    SampleResult(
        "s 1",
        "00ff",
        (Match("a", 0, 1), Match('b, "b"', 0, 2), Match("caf\udce9", 2, 3), Match("x\ny", 5, 4)),
    ),
    SampleResult("s\udcff", "0000", ()),
    SampleResult("字", "0001", (Match("é", 1, 9),)),
)


def rendered(name: str, samples: tuple[SampleResult, ...] = SAMPLES) -> bytes:
    return b"".join(RENDERERS[name](samples))


def test_simtool_writes_keys_as_the_bytes_they_are() -> None:
    assert rendered("simtool") == (
        b's 1\n0:a b, "b" \n2:caf\xe9 \n5:x\ny \ns\xff\n\xe5\xad\x97\n1:\xc3\xa9 \n'
    )


def test_jsonl_has_a_line_a_sample_and_exact_bytes_where_keys_are_not_utf8() -> None:
    lines = [json.loads(line) for line in rendered("jsonl").decode("utf-8").splitlines()]
    assert [line["fingerprint"] for line in lines] == ["00ff", "0000", "0001"]
    assert lines[0]["sample"] == "s 1"
    assert "sample_base64" not in lines[0]
    assert lines[0]["matches"][0] == {"key": "a", "distance": 0, "document_id": 1}
    assert [
        base64.b64decode(m["key_base64"]) for m in lines[0]["matches"] if "key_base64" in m
    ] == [b"caf\xe9"]
    assert base64.b64decode(lines[1]["sample_base64"]) == b"s\xff"
    assert lines[1]["matches"] == []
    assert lines[2]["matches"][0]["key"] == "é"


def test_csv_has_a_row_a_match_and_one_for_a_sample_without() -> None:
    rows = list(csv.DictReader(io.StringIO(rendered("csv").decode("utf-8"))))
    assert [(r["sample"], r["rank"], r["key"], r["distance"], r["document_id"]) for r in rows] == [
        ("s 1", "1", "a", "0", "1"),
        ("s 1", "2", 'b, "b"', "0", "2"),
        ("s 1", "3", "caf\\xe9", "2", "3"),
        ("s 1", "4", "x\\ny", "5", "4"),
        ("s\\xff", "", "", "", ""),
        ("字", "1", "é", "1", "9"),
    ]


def test_no_samples_give_an_empty_report() -> None:
    assert rendered("simtool", ()) == b""
    assert rendered("jsonl", ()) == b""
    assert rendered("csv", ()) == b"sample,rank,key,distance,document_id\n"
