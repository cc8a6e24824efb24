"""Check and insert within one batch, where one document decides of the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.errors import NotFound
from simstore.model import Document, IngestSummary
from simstore.services.features.prepare import prepare
from simstore.services.ingest.check_insert import check_and_store
from simstore.services.ingest.duplicate_checker import DuplicateRule
from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.storage import runs
from simstore.store import Store

# Of so few bits that each fingerprint is within three of each: the texts alone decide.
THREE_BITS = SchemeChoice("web", bits=3)
WORDS = [f"word{number}" for number in range(60)]


def chain(number: int) -> str:
    """Return a text that is like its neighbours in the chain, and not like the next but one."""
    return " ".join([f"other{place}" for place in range(5 * number)] + WORDS[5 * number :])


A, B, C = chain(0), chain(1), chain(2)
UNLIKE = "a text of its own, with nothing that any of the others has, and long enough to tell"


def add(store: Store, *documents: tuple[str, str], mode: str, **options: Any) -> IngestSummary:
    return store.add_many(
        documents,
        threads=1,
        on_duplicate=mode,
        min_resemblance=0.75,
        **options,  # type: ignore[arg-type]
    )


def told(store: Store) -> dict[str, tuple[str, str]]:
    return {one.key: (one.state, one.original) for one in store.duplicates.list()}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with create(tmp_path, THREE_BITS) as made:
        yield made
        assert made.maintenance.fsck() == []


def test_a_transaction_that_fails_leaves_no_trace_in_what_is_looked_at(store: Store) -> None:
    add(store, ("a", A), mode="skip")
    opened = store._opened

    def interrupted() -> None:
        with opened.write() as connection:
            snapshot = opened.snapshot(connection)
            batch = prepare([Document("lost", UNLIKE)], snapshot)
            run_id = runs.begin_run(connection, [], 0, "test")
            check_and_store(
                snapshot, batch, DuplicateRule("skip"),
                run_id=run_id, seen_at=0, source_ids={},
            )  # fmt: skip
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        interrupted()
    assert add(store, ("b", UNLIKE), mode="skip").added == 1
    assert add(store, ("c", UNLIKE), mode="skip").skipped == 1


def dated(key: str, text: str, **dates: Any) -> Document:
    return Document(key, text, **dates)


def add_dated(store: Store, *given: Document, mode: str, **options: Any) -> IngestSummary:
    return store.add_many(
        given,
        threads=1,
        on_duplicate=mode,  # type: ignore[arg-type]
        min_resemblance=0.75,
        **options,
    )


@pytest.mark.parametrize("batch_documents", [1, 100])
def test_an_older_record_does_not_overrule_what_was_skipped(
    store: Store, batch_documents: int
) -> None:
    summary = add_dated(
        store,
        dated("a", A, seen_at=100),
        dated("b", A, seen_at=200),
        dated("b", UNLIKE, seen_at=50),
        dated("b", UNLIKE, seen_at=150, published_at=40),
        mode="skip",
        batch_documents=batch_documents,
    )
    assert (summary.added, summary.updated, summary.skipped) == (1, 0, 3)
    (row,) = store.duplicates.list()
    assert (row.key, row.state, row.original) == ("b", "skipped", "a")
    assert (row.digest, row.first_seen, row.last_seen) == (store.get("a").digest, 40, 200)
    # As late as the last sight, or without a date: it is what is there now.
    assert add_dated(store, dated("b", UNLIKE, seen_at=200), mode="skip").added == 1
    assert told(store) == {}
    assert store.get("b").first_seen == 40


# By the distance of fingerprints

LONG = " ".join(f"word{number}" for number in range(40))


def distances(store: Store) -> dict[str, tuple[str, int | None, float | None, str]]:
    return {
        one.key: (one.original, one.distance, one.resemblance, one.basis)
        for one in store.duplicates.list()
    }


def test_store_of_fingerprints_and_nothing_else_tells_no_resemblance(tmp_path: Path) -> None:
    with create(tmp_path, SchemeChoice("web"), text=False, channels=("simhash",)) as made:
        with pytest.raises(NotFound, match="neither texts nor sketches"):
            made.add("a", LONG, on_duplicate="skip")
        made.add("a", LONG, on_duplicate="skip", radius=3)
        assert made.add("b", LONG + " end", on_duplicate="flag", radius=20) == "flagged"
        assert made.add("c", "end", on_duplicate="flag", radius=64) == "added"
        assert made.add("d", LONG, on_duplicate="skip", radius=3) == "skipped"
        found = distances(made)
        assert found["b"][0] == "a"
        assert found["b"][2:] == (None, "distance")
        assert found["d"] == ("a", 0, 1.0, "same")
        assert made.maintenance.fsck() == []


# What the store was made to do
