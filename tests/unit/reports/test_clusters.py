from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from simstore.model import ClusterMember, LeastShares, StoredCluster
from simstore.reports.clusters import (
    render_csv,
    render_jsonl,
    table_rows,
)
from simstore.services.clusters.reasons import ClusterRule

ODD = "caf\udce9"
CLUSTERS = [
    StoredCluster(
        7,
        "one",
        (
            ClusterMember(key="one", document_id=1, resemblance=1.0, distance=0, basis="same"),
            ClusterMember(
                key=ODD,
                document_id=4,
                resemblance=0.912_345,
                distance=3,
                basis="text",
                likeness=0.812_345,
            ),
            ClusterMember(key="far", document_id=5, resemblance=0.5, distance=None, basis="sketch"),
        ),
    ),
    StoredCluster(
        9, ODD, (ClusterMember(key=ODD, document_id=7, resemblance=1.0, distance=0, basis="same"),)
    ),
]
RULE = ClusterRule("first", LeastShares(0.5))


def test_table_names_a_cluster_once_and_marks_estimates() -> None:
    assert list(table_rows(CLUSTERS, RULE.reason)) == [
        ("7", "one", "canonical", 0, "1.000", "canonical: first seen"),
        ("", ODD, "member", 3, "0.912", "resemblance 0.912 >= 0.5"),
        ("", "far", "member", None, "~0.500", "estimated resemblance 0.500 >= 0.5"),
        ("9", ODD, "canonical", 0, "1.000", "canonical: first seen"),
    ]


def test_jsonl_has_a_line_a_document_and_the_bytes_of_odd_keys() -> None:
    lines = [
        json.loads(line) for line in b"".join(render_jsonl(CLUSTERS, RULE.reason)).splitlines()
    ]
    assert lines[1] == {
        "cluster_id": 7,
        "key": "caf\\xe9",
        "key_base64": "Y2Fm6Q==",
        "role": "member",
        "distance": 3,
        "resemblance": 0.9123,
        "reason": "resemblance 0.912 >= 0.5",
    }
    assert (lines[2]["distance"], lines[2]["resemblance"]) == (None, 0.5)
    assert [line["cluster_id"] for line in lines] == [7, 7, 7, 9]


def test_csv_has_a_row_a_document_and_a_header_in_any_case() -> None:
    written = b"".join(render_csv(CLUSTERS, RULE.reason)).decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [(row["cluster_id"], row["key"], row["role"], row["distance"]) for row in rows] == [
        ("7", "one", "canonical", "0"),
        ("7", "caf\\xe9", "member", "3"),
        ("7", "far", "member", ""),
        ("9", "caf\\xe9", "canonical", "0"),
    ]
    header = "cluster_id,key,role,distance,resemblance,reason"
    assert b"".join(render_csv([], RULE.reason)).decode() == header + "\n"


def test_reason_of_a_canonical_document_is_the_policy() -> None:
    for policy, reason in [
        ("first", "canonical: first seen"),
        ("longest", "canonical: longest"),
        ("prefer:^o", "canonical: first seen of the keys that match ^o"),
        ("prefer:^x", "canonical: first seen"),
    ]:
        rule = ClusterRule(policy, LeastShares(0.5))
        assert rule.reason(CLUSTERS[0].members, 0) == reason


def test_a_document_that_came_later_is_not_called_the_first_seen() -> None:
    one, two, three = CLUSTERS[0].members
    late, three = replace(one, document_id=5), replace(three, document_id=6)
    for policy, reason in [
        ("first", "canonical: earliest date"),
        ("prefer:^[of]", "canonical: first seen of the keys that match ^[of]"),
        ("prefer:^[oc]", "canonical: earliest date of the keys that match ^[oc]"),
    ]:
        assert ClusterRule(policy, LeastShares(0.5)).reason([late, two, three], 0) == reason


def test_reason_of_a_member_is_the_threshold_that_it_reaches() -> None:
    same, alike, far = CLUSTERS[0].members
    either = ClusterRule("first", LeastShares(0.95, 0.8, 0.68))
    expected = "likeness 0.812 >= 0.8 with a cosine >= 0.68"
    assert either.reason([same, alike, far], 1) == expected
    either = ClusterRule("first", LeastShares(0.9, 0.8, 0.68))
    assert either.reason([same, alike], 1) == "resemblance 0.912 >= 0.9"
    assert either.reason([alike, same], 1) == "same text"
