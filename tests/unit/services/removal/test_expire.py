"""What was not seen since a time leaves, in batches, and what was skipped because of it is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from stores import SIMTOOL, create

from simstore.model import Document
from simstore.services.removal import expire as services_expire
from simstore.store import Store


def dated(*given: tuple[str, int], text: str = "text of") -> list[Document]:
    return [Document(key, f"{text} {key}", seen_at=time) for key, time in given]


def keys(store: Store) -> list[str]:
    return [one.key for one in store]


def test_age_is_counted_from_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services_expire, "now", lambda: 1_000)
    with create(tmp_path) as store:
        store.add_many(dated(("a", 899), ("b", 900)))
        assert store.expire(not_seen_since=timedelta(seconds=100)).since == 900
        assert keys(store) == ["b"]


@pytest.mark.parametrize("batch_documents", [3, 1_000])
def test_interrupted_expiry_goes_on(tmp_path: Path, batch_documents: int) -> None:
    class Interrupted(Exception):
        pass

    told = []

    def interrupt(done: int, total: int) -> None:
        told.append((done, total))
        if len(told) == 2:
            raise Interrupted

    given = [(f"k{number}", number % 2) for number in range(20)]
    with create(tmp_path) as store:
        store.add_many(dated(*given))
        removed = 0
        try:
            store.expire(not_seen_since=1, batch_documents=batch_documents, on_progress=interrupt)
        except Interrupted:
            removed = 2 * batch_documents
        assert len(store) == 20 - (removed or 10)
        assert store.maintenance.fsck() == []
        store.expire(not_seen_since=1)
        assert keys(store) == [key for key, time in given if time]
        assert told[0] == (min(batch_documents, 10), 10)


def test_batch_may_be_larger_than_any_database_number(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add("a", "The ferry leaves at noon.")
        assert store.expire(not_seen_since="2099-01-01", batch_documents=1 << 63).removed == 1


def test_live_store_is_refreshed_once_at_the_end(tmp_path: Path) -> None:
    with create(tmp_path, SIMTOOL) as store:
        store.add_many(dated(("a", 1), ("b", 2), ("c", 9)))
        store.expire(not_seen_since=2, refresh=False)
        assert not store.stats().fresh
        store.expire(not_seen_since=3)
        assert store.stats().fresh
        with Store.create(tmp_path / "t.db", scheme=SIMTOOL) as other:
            other.add_many(dated(("c", 9)))
            assert store.vocabulary.terms() == other.vocabulary.terms()
