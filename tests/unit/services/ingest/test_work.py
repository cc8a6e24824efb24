"""How much an ingest asks of the database: transactions and statements, not seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from heard import Heard, changed_tables, changes, heard, readers, writers
from stores import numbered_text

from simstore.errors import InvalidParameter
from simstore.model import IngestProgress
from simstore.services.ingest import ingest, source_batches
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.store import Store

__all__ = ["heard"]


def test_one_new_document_is_one_transaction_of_few_statements(
    tmp_path: Path, heard: Heard
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add("first", numbered_text(0))
        heard.clear()
        store.add("second", numbered_text(1))
    assert writers(heard) == 1
    assert readers(heard) == 0
    assert len(heard) < 30
    assert len(changes(heard)) <= 12


def test_one_known_document_changes_nothing_but_the_run_and_its_last_sight(
    tmp_path: Path, heard: Heard
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add("first", numbered_text(0))
        heard.clear()
        store.add("first", numbered_text(0))
    assert writers(heard) == 1
    assert changed_tables(heard) <= {"ingest_run", "document"}


@pytest.mark.slow
def test_bulk_takes_a_transaction_for_thousands_and_a_statement_for_tens(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    count = 9_000
    progress: list[IngestProgress] = []
    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        heard.clear()
        summary = store.add_many(
            ((f"k{number}", numbered_text(number)) for number in range(count)),
            observer=Observer(on_progress=progress.append),
        )
        assert summary.added == count
        assert writers(heard) == 2
        assert len(heard) < count / 6
    assert [one.document_count for one in progress] == [8_000, 9_000]
    # A store that keeps its texts and asks nothing of the corpus does without the table of terms.
    assert not any("feature" in one for one in heard)


@pytest.mark.parametrize(("most", "expected"), [(1, 6), (2, 3), (4, 2), (6, 1), (100, 1)])
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


def test_slow_documents_are_committed_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 1)
    progress: list[int] = []
    observer = Observer(on_progress=lambda one: progress.append(one.document_count))
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(str(n), numbered_text(n)) for n in range(5)], observer=observer)
    assert progress == [1, 2, 3, 4, 5]


def test_strict_ingest_commits_what_came_before_the_rejected_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 2)
    lines = [f'{{"key": "{n}", "text": "{numbered_text(n)}"}}' for n in range(12)]
    lines[7] = "no JSON"
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    with Store.create(tmp_path / "s.db") as store:
        with pytest.raises(ValueError, match="JSON"):
            store.ingest([str(path)], options=IngestOptions(strict=True))
        assert [one.key for one in store] == [str(n) for n in range(7)]
        assert store.maintenance.fsck() == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["web", "simtool"])
def test_documents_prepared_for_another_scheme_are_prepared_anew(
    tmp_path: Path, scheme: str
) -> None:
    """Another process has changed the scheme since this one looked."""

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


def test_a_transaction_is_written_before_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", 1)
    stored: list[int] = []
    with Store.create(tmp_path / "s.db") as store:

        def documents() -> Iterator[tuple[str, str]]:
            for number in range(9):
                stored.append(len(store))
                yield f"k{number}", numbered_text(number)

        store.add_many(documents(), batch_documents=4, threads=1)
        assert len(store) == 9
    # One document of the next is read to know that there is one.
    assert stored == [0] * 5 + [4] * 4


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


def test_threads_have_a_transaction_to_prepare_while_another_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Batches are full by their characters, long before they hold as many documents as they may.
    monkeypatch.setattr(source_batches, "BATCH_CHARACTERS", 5 * len(numbered_text(0)))
    read = 0
    waiting: list[int] = []

    def documents() -> Iterator[tuple[str, str]]:
        nonlocal read
        for number in range(400):
            read += 1
            yield f"k{number}", numbered_text(number)

    def note(progress: IngestProgress) -> None:
        waiting.append(read - progress.document_count)

    with Store.create(tmp_path / "s.db", synchronous="normal") as store:
        observer = Observer(on_progress=note)
        monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
        store.add_many(documents(), batch_documents=80, threads=2, observer=observer)
    assert waiting[-1] == 0
    # What is gathered is written at once, and the next transaction is being prepared meanwhile.
    assert all(75 <= count <= 95 for count in waiting[:-2])
    assert len(waiting) >= 5


def test_documents_of_a_transaction_are_looked_up_together(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "_COMMIT_SECONDS", math.inf)
    documents = [(f"k{number}", numbered_text(number)) for number in range(24)]
    asked = []
    for most in (24, 4):
        monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", most)
        with Store.create(tmp_path / f"{most}.db") as store:
            store.add("first", numbered_text(0))
            heard.clear()
            summary = store.add_many(documents, on_duplicate="skip", threads=1)
            assert (summary.added, summary.skipped) == (23, 1)
            asked.append(sum("SELECT" in one for one in heard))
            assert store.maintenance.fsck() == []
    assert asked[0] == asked[1]


@pytest.mark.parametrize("most", [1, 3, 12])
def test_vocabulary_counts_what_is_stored_of_a_batch_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(ingest, "BATCH_DOCUMENTS", most)
    texts = {f"k{number}": numbered_text(number // 2) for number in range(12)}
    with Store.create(tmp_path / "s.db") as store:
        store.add("k0", "some other words that are replaced by those of the batch")
        assert store.add_many(texts, on_duplicate="skip").skipped == 6
        found = sorted(store.vocabulary.terms(), key=lambda one: one.term)
    with Store.create(tmp_path / "t.db") as other:
        other.add_many({f"k{number}": texts[f"k{number}"] for number in range(0, 12, 2)})
        assert found == sorted(other.vocabulary.terms(), key=lambda one: one.term)
