from __future__ import annotations

import base64
import csv
import io
import json

from simstore.model import Match, SampleResult
from simstore.reports.formats import RENDERERS

SAMPLES = (
    SampleResult(
        key="s 1",
        fingerprint="00ff",
        matches=(
            Match(key="a", distance=0, document_id=1),
            Match(key='b, "b"', distance=0, document_id=2),
            Match(key="caf\udce9", distance=2, document_id=3),
            Match(key="x\ny", distance=5, document_id=4),
        ),
    ),
    SampleResult(key="s\udcff", fingerprint="0000", matches=()),
    SampleResult(
        key="字", fingerprint="0001", matches=(Match(key="é", distance=1, document_id=9),)
    ),
)
OVERLAP = ("channels", "resemblance", "containment", "containment_reverse", "basis")
FOUND_BY_BOTH = Match(
    key="both",
    distance=2,
    document_id=1,
    channels=("simhash", "minhash"),
    resemblance=0.75,
    containment=0.8,
    containment_reverse=0.91666667,
    basis="text",
)
FOUND_BY_BANDS = Match(
    key="bands",
    distance=20,
    document_id=2,
    channels=("minhash",),
    resemblance=0.5,
    containment=0.6,
    containment_reverse=0.7,
    basis="sketch",
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
    assert lines[0]["matches"][0] == {
        "key": "a",
        "distance": 0,
        "document_id": 1,
        "channels": ["simhash"],
        "resemblance": None,
        "containment": None,
        "containment_reverse": None,
        "basis": None,
        "passage_start": None,
        "passage_end": None,
        "passage_similarity": None,
        "character_resemblance": None,
        "title": None,
        "author": None,
        "date": None,
        "url": None,
    }
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


def test_every_match_says_what_found_it_and_how_alike_it_is() -> None:
    samples = (
        SampleResult(
            key="s", fingerprint="00", matches=(FOUND_BY_BOTH, FOUND_BY_BANDS), too_short=True
        ),
    )
    line = json.loads(rendered("jsonl", samples))
    assert line["too_short"] is True
    assert [[m[name] for name in OVERLAP] for m in line["matches"]] == [
        [["simhash", "minhash"], 0.75, 0.8, 0.9167, "text"],
        [["minhash"], 0.5, 0.6, 0.7, "sketch"],
    ]
    rows = list(csv.DictReader(io.StringIO(rendered("csv", samples).decode())))
    assert [[row[name] for name in OVERLAP] for row in rows] == [
        ["simhash+minhash", "0.75", "0.8", "0.9167", "text"],
        ["minhash", "0.5", "0.6", "0.7", "sketch"],
    ]


def test_simtool_lists_what_the_fingerprints_found_and_nothing_else() -> None:
    without_fingerprint = Match(
        key="c", distance=None, document_id=3, channels=("minhash",), resemblance=0.9
    )
    matches = (FOUND_BY_BOTH, FOUND_BY_BANDS, without_fingerprint)
    assert (
        rendered("simtool", (SampleResult(key="s", fingerprint="00", matches=matches),))
        == b"s\n2:both \n"
    )


def test_no_samples_give_an_empty_report() -> None:
    assert rendered("simtool", ()) == b""
    assert rendered("jsonl", ()) == b""
    assert rendered("csv", ()) == (
        b"sample,rank,key,distance,document_id,channels,resemblance,containment,"
        b"containment_reverse,basis,too_short,"
        b"passage_start,passage_end,passage_similarity,character_resemblance,title,author,date,url\n"
    )
