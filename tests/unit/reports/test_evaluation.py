from __future__ import annotations

import csv
import json
from io import StringIO

from simstore.reports.evaluation import (
    POINT_COLUMNS,
    render_csv,
    render_jsonl,
    tables,
)
from simstore.search.agreement import Agreement
from simstore.search.evaluation import BandRecall, CurvePoint, Evaluation


def made(set_name: str, threshold: float, share: float, *, method: str = "simhash") -> CurvePoint:
    counts = None if set_name == "mean" else Agreement(1, 2, 3)
    is_default = threshold == 3
    return CurvePoint(
        set_name, method, threshold, "labels", share, share, share, counts, is_default
    )


EVALUATION = Evaluation(
    7,
    3,
    (),
    0,
    ("simhash", "verified"),
    (
        *(made(name, radius, radius / 4) for radius in (3, 4) for name in ("l", "r", "mean")),
        made("mean", 0.5, 0.5, method="verified"),
    ),
    (BandRecall("l", 0.9, 1.0, 3, {"simhash 3": 2 / 3, "bands": 1.0}),),
)


def test_tables_show_the_mean_by_threshold_then_the_sets_then_the_bands() -> None:
    curve, sets, bands = list(tables(EVALUATION))
    assert curve[2] == [
        ("simhash", "3", "0.750", "0.750", "0.750", "default"),
        ("simhash", "4", "1.000", "1.000", "1.000", "best"),
        ("verified", "0.50", "0.500", "0.500", "0.500", "best"),
    ]
    assert [row[:2] for row in sets[2]] == [("l", "simhash"), ("r", "simhash"), ("mean", "simhash")]
    assert sets[2][0][2:] == ("3", "0.750", "0.750", "0.750", "4", "1.000")
    assert bands[1] == ("resemblance", "pairs", "simhash 3", "bands")
    assert bands[2] == [("0.9-1.0", 3, "0.667", "1.000")]


def test_jsonl_has_an_object_a_point_and_a_band() -> None:
    records = [json.loads(line) for line in render_jsonl(EVALUATION)]
    assert len(records) == 8
    assert records[0] == {
        "kind": "point",
        "set": "l",
        "method": "simhash",
        "threshold": 3,
        "against": "labels",
        "precision": 0.75,
        "recall": 0.75,
        "f1": 0.75,
        "common": 1,
        "found": 2,
        "labelled": 3,
        "default": True,
    }
    assert records[-1]["kind"] == "band"
    assert records[-1]["recall"] == {"simhash 3": 0.6667, "bands": 1.0}


def test_csv_has_a_header_and_a_row_a_point() -> None:
    rows = list(csv.reader(StringIO(b"".join(render_csv(EVALUATION)).decode())))
    assert rows[0] == list(POINT_COLUMNS)
    assert len(rows) == 8
