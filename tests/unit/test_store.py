"""The façade: documents in and out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simstore import Store
from simstore.errors import (
    InvalidParameter,
)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.db", synchronous="normal") as made:
        yield made


def test_what_is_no_document_is_an_invalid_parameter(store: Store) -> None:
    for given in [
        {"key": "a"},
        {"text": "x"},
        {"key": "", "text": "x"},
        ("", "x"),
        (5.5, "x"),
        (True, "x"),
        ("a", None),
        ("a", b"x"),
        ("\ud800", "x"),
        ("a", "x \ud800"),
        {"key": "a", "text": "x", "metadata": {"n": object()}},
        {"key": "a", "text": "x", "metadata": {"n": {1, 2}}},
        {"key": "a", "text": "x", "metadata": {"n": math.inf}},
        {"key": "a", "text": "x", "title": 5},
        {"key": "a", "text": "x", "title": "\ud800"},
        {"key": "a", "text": "x", "collection": ["c"]},
        {"key": "a", "text": "x", "metadata": "en"},
        ("a", "x", "y"),
        "ab",
        5,
    ]:
        with pytest.raises(InvalidParameter):
            store.add_many([("first", "x"), given])
        assert "a" not in store
        assert store.maintenance.fsck() == []


@pytest.mark.parametrize("metadata", [{"a": {2: [(3,)]}}, {"a": 1.0}])
def test_document_added_again_is_unchanged_whatever_its_metadata(
    store: Store, metadata: dict[Any, Any]
) -> None:
    assert store.add("k", "text", metadata=metadata) == "added"
    assert store.add("k", "text", metadata=metadata) == "unchanged"
    assert store.add("k", "text", metadata={**metadata, "more": 1}) == "updated"


@pytest.mark.parametrize(
    "number",
    [1 << 63, -(1 << 63) - 1, 1 << 20_000],
    ids=["64", "negative", "20000"],
)
def test_numbers_of_more_than_64_bits_are_refused(tmp_path: Path, number: int) -> None:
    with Store.create(tmp_path / "s.db") as store:
        calls: list[Callable[[], object]] = [
            lambda: store.report(number),
            lambda: store.runs.query(number),
            lambda: store.runs.ingest(number),
            lambda: store.rejects.list(limit=number),
            lambda: list(store.list(limit=number)),
            lambda: list(store.list(after=number)),
            lambda: list(store.clusters.list(number)),
            lambda: store.clusters.members(number),
            lambda: list(store.clusters.merges(after=number)),
            lambda: store.vocabulary.terms(number),
        ]
        for call in calls:
            with pytest.raises(InvalidParameter, match=r"it must be at most 9,223"):
                call()


def test_kept_clusters_of_a_tiny_least_resemblance_are_kept_up_to_date(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([("a", "river and stone and lamp " * 9), ("b", "other words " * 30)])
        store.maintenance.compact((1, 128))
        store.clusters.build(min_resemblance=1e-300)
        store.add("c", "river and stone and lamp " * 8 + "more")
        assert store.clusters.build().text_count == 3
