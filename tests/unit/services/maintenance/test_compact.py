"""Compacting gives space back, and takes none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from stores import create

from simstore.services.maintenance import maintain

WORDS = 3_000
DOCUMENTS = 300


def _text(chance: random.Random) -> str:
    return " ".join(f"w{chance.randrange(WORDS)}" for _ in range(120))


def test_a_new_store_does_not_grow(tmp_path: Path) -> None:
    chance = random.Random(1)
    with create(tmp_path) as store:
        store.add_many([(f"k{number}", _text(chance)) for number in range(DOCUMENTS)])
        known = store.stats().term_count
        first = store.maintenance.compact()
        assert first.bytes_after < first.bytes_before
        again = store.maintenance.compact()
        assert again.bytes_before == again.bytes_after == first.bytes_after
        assert store.stats().term_count == known
        assert store.maintenance.fsck() == []


@pytest.mark.slow
def test_what_was_removed_is_given_back_with_its_terms(tmp_path: Path) -> None:
    chance = random.Random(2)
    with create(tmp_path) as store:
        store.add_many([(f"k{number}", _text(chance)) for number in range(DOCUMENTS)])
        store.add("alone", "a term of no other document: harbourmaster")
        full = store.maintenance.compact().bytes_after
        known = {term.term for term in store.vocabulary.terms()}
        assert "harbourmaster" in known
        store.remove(*[f"k{number}" for number in range(0, DOCUMENTS, 2)], "alone")
        assert store.maintenance.compact().bytes_after < full
        assert "harbourmaster" not in {term.term for term in store.vocabulary.terms()}
        assert store.maintenance.fsck() == []


def test_removed_keys_of_the_latest_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "MOST_REMOVING_RUNS", 2)
    with create(tmp_path) as store:
        for key in ("a", "b", "c"):
            store.add(key, f"text of {key}")
        for key in ("a", "b", "c"):
            store.remove(key)
        store.maintenance.compact()
        latest = store.runs.ingest(3)
        assert [store.runs.show(run.run_id).removed_keys for run in latest] == [("c",), ("b",), ()]
