"""Rows of labelled documents go by characters as the clusters of a store of them do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from simstore import Store, dedup_rows

pytestmark = pytest.mark.quality

# In English and Chinese; members of clusters at each threshold, as they were measured.
SETS = (
    "bible-parallel", "django-docs-txt", "manpages", "spdx-scancode-cross", "zh-classics",
    "zh-poetry",
)  # fmt: skip
MEMBERS = {0.5: 1_771, 0.8: 1_372}


@pytest.fixture(scope="module")
def source(labelled_documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with gzip.open(labelled_documents, "rt", encoding="utf-8") as lines, path.open("w") as file:
        for record in map(json.loads, lines):
            if record["id"].split("::")[0] in SETS:
                file.write(json.dumps({"id": record["id"], "text": record["text"]}) + "\n")
    return path


@pytest.fixture(scope="module")
def store(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store.create(tmp_path_factory.mktemp("store") / "s.db", channels=("characters",))
    made.ingest(source)
    return made


@pytest.mark.parametrize("least", MEMBERS)
def test_each_row_has_the_canonical_document_and_the_resemblance_that_a_store_tells(
    source: Path, store: Store, tmp_path: Path, least: float
) -> None:
    asked = {"channels": ("characters",), "min_resemblance": least}
    found = store.clusters.once(**asked)  # type: ignore[arg-type]
    expected = {
        member.key: (cluster.key, round(member.resemblance, 6))
        for cluster in found
        for member in cluster.members
        if member.key != cluster.key
    }
    assert found.document_count == 6_271
    assert len(expected) == MEMBERS[least]
    dedup_rows(source, tmp_path / "out.jsonl", mark=True, **asked)  # type: ignore[arg-type]
    with (tmp_path / "out.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    assert {
        row["id"]: (row["duplicate_of"], row["resemblance"])
        for row in rows
        if row["duplicate_of"] is not None
    } == expected
