"""How much an ingest asks of the database: transactions and statements, not seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from heard import Heard, heard, writers
from stores import numbered_text

from simstore.errors import InvalidParameter
from simstore.model import IngestProgress
from simstore.services.ingest import ingest
from simstore.services.ingest.ingest import Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

__all__ = ["heard"]


@pytest.mark.parametrize(("most", "expected"), [(1, 6), (4, 2), (100, 1)])
def test_no_transaction_holds_more_documents_than_asked_for(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch, most: int, expected: int
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 2)
    with Store.create(tmp_path / "s.db") as store:
        heard.clear()
        documents = [(f"k{number}", numbered_text(number)) for number in range(6)]
        store.add_many(documents, batch_documents=most, threads=2)
        assert writers(heard) == expected
        assert len(store) == 6


@pytest.mark.slow
def test_documents_prepared_for_another_scheme_are_prepared_anew(tmp_path: Path) -> None:
    """Another process has changed the scheme since this one looked."""
    scheme = "simtool"

    def of(store: Store) -> list[Any]:
        return [(one.key, one.fingerprint) for one in store]

    other: Any = SchemeChoice("web", bits=100) if scheme == "web" else SchemeChoice("web")
    with Store.create(tmp_path / "s.db", scheme=scheme) as store:
        store.add("a", numbered_text(0))
        with Store.open(tmp_path / "s.db") as second:
            second.maintenance.reindex(other)
        store.add("b", numbered_text(1))
        found = of(store)
        assert store.maintenance.fsck() == []
    with Store.create(tmp_path / "t.db", scheme=other) as expected:
        expected.add_many([("a", numbered_text(0)), ("b", numbered_text(1))])
        assert of(expected) == found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad", [("", "no key"), ("k", None), ("k", "text", "a third")])
def test_what_comes_before_a_document_that_cannot_be_used_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Any, threads: int
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 2)
    given: list[Any] = [(str(n), numbered_text(n)) for n in range(7)]
    given[5] = bad
    with Store.create(tmp_path / "s.db") as store:
        with pytest.raises(InvalidParameter, match="document 6"):
            store.add_many(given, threads=threads)
        assert [one.key for one in store] == ["0", "1", "2", "3", "4"]
        assert store.maintenance.fsck() == []
        assert [run.state for run in store.runs.ingest()] == ["interrupted"]


@pytest.mark.slow
def test_two_transactions_and_a_few_batches_of_documents_are_held_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 20)
    progress: list[IngestProgress] = []
    held: list[int] = []

    def documents() -> Iterator[tuple[str, str]]:
        for number in range(2_000):
            held.append(number - (progress[-1].document_count if progress else 0))
            yield f"k{number}", numbered_text(number)

    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        store.add_many(
            documents(), batch_documents=80, observer=Observer(on_progress=progress.append)
        )
    assert max(held[1_000:]) <= max(held[:1_000]) + 20
    assert max(held) <= 2 * 80 + 3 * 20
