"""When documents were seen, their earlier versions, and the links between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stores import create, raw, rows

from simstore.errors import InvalidParameter
from simstore.model import Document
from simstore.services.ingest import one_document, run
from simstore.sources.reader import HistoryFields, ReadOptions
from simstore.storage.history import MOST_SNAPSHOTS
from simstore.store import Store

FIELDS = ReadOptions(history_fields=HistoryFields("crawled", "published", "links"))
TIMES = "SELECT first_seen, first_seen_basis, last_seen, version_seen FROM document"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    def set_to(time: int) -> None:
        for module in (run, one_document):
            monkeypatch.setattr(module, "now", lambda: time)

    return set_to


def records(*given: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"key": "k"} | one).encode() + b"\n" for one in given)


def ingest(store: Store, path: Path, *given: dict[str, Any]) -> Any:
    if given:
        path.write_bytes(records(*given))
    return store.ingest([str(path)], read=FIELDS)


def test_same_command_again_is_a_later_sight(tmp_path: Path, clock: Any) -> None:
    dated, undated = tmp_path / "dated.jsonl", tmp_path / "undated.jsonl"
    clock(900)
    with create(tmp_path) as store:
        ingest(store, dated, {"text": "river", "crawled": 500})
        ingest(store, undated, {"key": "u", "text": "stone"})
        before = rows(tmp_path, TIMES)
        clock(1_000)
        for _ in range(3):
            assert ingest(store, dated).unchanged == 1
            assert ingest(store, undated).unchanged == 1
    # Its file still has it: it was last seen now.
    assert rows(tmp_path, TIMES) == [before[0], (900, "ingest", 1_000, None)]


def test_only_the_latest_snapshots_are_kept(tmp_path: Path) -> None:
    most = MOST_SNAPSHOTS
    with create(tmp_path) as store:
        store.add_many([Document("k", f"{n}", seen_at=n) for n in range(most + 5)])
        assert rows(tmp_path, "SELECT min(revision), max(revision) FROM snapshot") == [
            (5, most + 4)
        ]
        for number in range(most + 5, most + 8):
            store.add_many([Document("k", f"{number}", seen_at=number)])
    assert rows(tmp_path, "SELECT min(revision), count(*) FROM snapshot") == [(8, most)]


def test_links_are_those_of_the_present_text(tmp_path: Path) -> None:
    links = "SELECT target FROM document_link ORDER BY target"
    with create(tmp_path) as store:
        for text, targets, expected in (
            ("a", ("x", "y", "x"), ["x", "y"]),
            ("a", ("z",), ["x", "y", "z"]),
            ("b", ("w",), ["w"]),
            ("b", (), ["w"]),
            ("c", (), []),
        ):
            store.add_many([Document("k", text, links=targets)])
            assert rows(tmp_path, links) == [(target.encode(),) for target in expected]
        store.add_many([Document("k", "c", links=("x",))])
        store.remove("k")
    assert rows(tmp_path, links) == []


def test_record_with_a_bad_date_or_link_is_rejected(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"crawled": "yesterday"}, {"crawled": True}, {"published": [1]}, {"published": 1e15},
        {"links": [1]}, {"links": {"a": 1}},
    ]  # fmt: skip
    with create(tmp_path) as store:
        given = [record | {"text": "a"} for record in bad]
        summary = ingest(store, tmp_path / "a.jsonl", *given, {"key": "good", "text": "b"})
        assert (summary.added, summary.rejected) == (1, len(bad))
        for record, found in zip(bad, store.rejects.list(), strict=True):
            assert f"the field {next(iter(record))}" in found.rejection.reason


def test_times_and_links_of_a_caller_are_checked(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"seen_at": "yesterday"}, {"seen_at": True}, {"published_at": [1]}, {"seen_at": 10**18},
        {"links": "key"}, {"links": [1]}, {"links": ["\ud800"]},
    ]  # fmt: skip
    with create(tmp_path) as store:
        for fields in bad:
            with pytest.raises(InvalidParameter):
                store.add_many([{"key": "k", "text": "a"} | fields])
        assert len(store) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("UPDATE document SET last_seen = 0", "k: last seen before it was first seen"),
        ("UPDATE document SET version_seen = 4", "k: its present version was first seen outside"),
        ("UPDATE document SET version_seen = 99", "k: its present version was first seen outside"),
        ("UPDATE document SET first_seen_basis = 'hearsay'", "k: nobody says"),
        ("UPDATE snapshot SET revision = 3", "k: an earlier version is not earlier"),
        ("UPDATE snapshot SET first_seen = 1", "k: an earlier version was seen at impossible"),
        ("UPDATE snapshot SET last_seen = 99", "k: an earlier version was seen at impossible"),
        (
            "WITH RECURSIVE n(i) AS (SELECT -1 UNION ALL SELECT i - 1 FROM n WHERE i > -30) "
            "INSERT INTO snapshot SELECT 1, i, x'00', 5, 6 FROM n",
            "k: more than 20 earlier versions",
        ),
    ],
)
def test_fsck_finds_a_history_that_cannot_be(tmp_path: Path, damage: str, expected: str) -> None:
    with create(tmp_path) as store:
        store.add_many([Document("k", text, seen_at=time) for text, time in (("a", 5), ("b", 9))])
        assert store.maintenance.fsck() == []
    with raw(tmp_path) as connection:
        assert connection.execute(damage).rowcount
    with Store.open(tmp_path / "s.db") as store:
        found = store.maintenance.fsck()
    assert {one.invariant for one in found} == {"history"}
    assert any(one.detail.startswith(expected) for one in found), found
