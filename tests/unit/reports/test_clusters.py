from __future__ import annotations

import csv
import io
import json

from simstore.model import Cluster, ClusterMember
from simstore.reports.clusters import render_csv, render_jsonl, table_columns, table_rows

ODD = "caf\udce9"
CLUSTERS = [
    Cluster(
        "one",
        (
            ClusterMember("one", 1, 1.0, 0, "same"),
            ClusterMember(ODD, 4, 0.912_345, 3, "text", 0.812_345),
            ClusterMember("far", 5, 0.5, None, "sketch"),
        ),
    ),
    Cluster(ODD, (ClusterMember(ODD, 7, 1.0, 0, "same"),)),
]


def test_table_names_a_cluster_once_and_marks_estimates() -> None:
    assert list(table_rows(CLUSTERS, likeness=False)) == [
        ("one", "one", "1.000", 0),
        ("", ODD, "0.912", 3),
        ("", "far", "~0.500", None),
        (ODD, ODD, "1.000", 0),
    ]


def test_table_tells_the_likeness_where_it_is_asked_for() -> None:
    assert "likeness" in table_columns(likeness=True)
    rows = list(table_rows(CLUSTERS, likeness=True))
    assert rows[1] == ("", ODD, "0.912", "0.812", 3)
    assert all(len(row) == len(table_columns(likeness=True)) for row in rows)


def test_jsonl_has_a_line_a_document_and_the_bytes_of_odd_keys() -> None:
    lines = [json.loads(line) for line in b"".join(render_jsonl(CLUSTERS)).splitlines()]
    assert lines[1] == {
        "cluster": "one",
        "key": "caf\\xe9",
        "key_base64": "Y2Fm6Q==",
        "document_id": 4,
        "resemblance": 0.9123,
        "distance": 3,
        "basis": "text",
        "likeness": 0.8123,
    }
    assert (lines[2]["distance"], lines[2]["basis"]) == (None, "sketch")
    assert lines[3]["cluster_base64"] == "Y2Fm6Q=="


def test_csv_has_a_row_a_document_and_a_header_in_any_case() -> None:
    rows = list(csv.DictReader(io.StringIO(b"".join(render_csv(CLUSTERS)).decode())))
    assert [(row["cluster"], row["key"], row["distance"]) for row in rows] == [
        ("one", "one", "0"),
        ("one", "caf\\xe9", "3"),
        ("one", "far", ""),
        ("caf\\xe9", "caf\\xe9", "0"),
    ]
    header = "cluster,key,document_id,resemblance,distance,basis,likeness"
    assert b"".join(render_csv([])).decode() == header + "\n"
