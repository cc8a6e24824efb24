"""Rows by runs of characters are those of the clusters of a store of the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from misspelt import documents, misspelt, text

from simstore import Store, dedup_rows
from simstore.errors import InvalidParameter
from simstore.services.dedup import stored_rows

ROWS = documents(260, 3)
BY = ("characters",)
Stars = dict[str, tuple[str, float]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps({"id": key, "text": made}) + "\n" for key, made in ROWS]
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store.create(
        tmp_path_factory.mktemp("store") / "s.db", channels=("simhash", "minhash", "characters")
    )
    made.add_many(ROWS, threads=1)
    return made


def clusters(store: Store, **options: Any) -> Stars:
    """Return what each member is a member of, and how much it resembles that."""
    found = store.clusters.once(channels=BY, **options)
    return {
        member.key: (cluster.key, round(member.resemblance, 6))
        for cluster in found
        for member in cluster.members
        if member.key != cluster.key
    }


def marked(path: Path) -> Stars:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == [key for key, _ in ROWS]
    return {
        row["id"]: (row["duplicate_of"], row["resemblance"])
        for row in rows
        if row["duplicate_of"] is not None
    }


@pytest.mark.parametrize(
    ("options", "of_a_store", "least_count"),
    [
        ({}, {}, 60),
        ({"policy": "longest"}, {"policy": "longest"}, 60),
        ({"short_texts": True}, {"short_texts": True}, 70),
    ],
)
def test_rows_are_members_of_what_they_are_in_a_store(
    source: Path,
    store: Store,
    tmp_path: Path,
    options: dict[str, Any],
    of_a_store: dict[str, Any],
    least_count: int,
) -> None:
    dedup_rows(source, tmp_path / "out.jsonl", mark=True, channels=BY, **options)
    found = marked(tmp_path / "out.jsonl")
    assert len(found) > least_count
    assert found == clusters(store, **of_a_store)
    assert found == clusters(store, exact_join=True, **of_a_store)


def test_a_store_decides_as_memory_does(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"short_texts": True}
    monkeypatch.setattr(stored_rows, "_GROUP_ROWS", 50)
    dedup_rows(source, tmp_path / "alone.jsonl", channels=BY, **options)
    with Store.create(tmp_path / "s.db", channels=("simhash", *BY)) as stored:
        dedup_rows(source, tmp_path / "stored.jsonl", store=stored, channels=BY, **options)
        alone = (tmp_path / "alone.jsonl").read_bytes()
        assert (tmp_path / "stored.jsonl").read_bytes() == alone
        assert len(stored) == len(alone.splitlines())


def test_what_a_store_has_is_dropped_though_it_is_misspelt(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    new = text(901, chinese=True)
    rows = [misspelt(text(900), 0.04, 1), new, misspelt(new, 0.05, 2)]
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), "utf-8")
    with Store.create(tmp_path / "s.db", channels=("minhash", *BY)) as stored:
        stored.add("held", text(900))
        log = tmp_path / "log.jsonl"
        dedup_rows(path, tmp_path / "out.jsonl", store=stored, channels=BY, log=log)
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == [new]
    told = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert told[0]["duplicate_of"] == "held"
    assert 0.5 <= told[0]["resemblance"] < 1


def test_a_store_without_the_channel_is_told_before_anything_is_written(
    source: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    with (
        Store(":memory:") as stored,
        pytest.raises(InvalidParameter, match=r"no channel characters.*reindex\(channels="),
    ):
        dedup_rows(source, tmp_path / "out.jsonl", store=stored, channels=BY)
    assert sorted(tmp_path.iterdir()) == before
