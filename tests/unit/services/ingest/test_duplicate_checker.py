"""Check and insert within one batch, where one document decides of the next."""

from __future__ import annotations

import random
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


def test_what_is_skipped_is_uncovered_once_its_original_says_something_else(store: Store) -> None:
    add(store, ("a", A), mode="keep")
    summary = add(store, ("b", B), ("a", UNLIKE), ("c", C), mode="skip")
    assert (summary.added, summary.updated, summary.skipped) == (1, 1, 1)
    assert (summary.uncovered, summary.orphaned) == (1, 0)
    assert told(store) == {"b": ("uncovered", "a")}
    assert [one.key for one in store] == ["a", "c"]
    store.remove("a")
    assert told(store) == {"b": ("orphaned", "a")}


def test_what_is_skipped_stays_a_duplicate_while_its_original_covers_its_former_text(
    store: Store,
) -> None:
    page = " ".join(f"word{number}" for number in range(60))
    visits = [f"{page} seen {number} times by now {page[::-1]}" for number in range(1, 6)]
    add(store, ("a", visits[0]), ("b", visits[0]), mode="skip")
    for visit in visits[1:]:
        summary = add(store, ("a", visit), mode="skip")
        assert (summary.updated, summary.uncovered, summary.orphaned) == (1, 0, 0)
    assert told(store) == {"b": ("skipped", "a")}
    # In one batch: what follows the update is still a duplicate.
    summary = add(store, ("c", visits[4]), ("a", visits[0]), ("b", visits[0]), mode="skip")
    assert (summary.updated, summary.skipped, summary.uncovered) == (1, 2, 0)
    assert told(store) == {"b": ("skipped", "a"), "c": ("skipped", "a")}


def test_an_orphan_that_comes_again_in_the_same_batch_is_looked_at_anew(store: Store) -> None:
    add(store, ("a", A), ("b", B), mode="skip")
    summary = add(store, ("a", UNLIKE), ("b", B), mode="skip")
    assert (summary.added, summary.updated, summary.orphaned) == (1, 1, 0)
    assert told(store) == {}


def test_a_stored_page_whose_new_text_duplicates_another_leaves(store: Store) -> None:
    add(store, ("a", A), ("b", UNLIKE), ("of b", UNLIKE + " end"), mode="skip")
    summary = add(store, ("b", B), mode="skip")
    assert (summary.skipped, summary.orphaned) == (1, 1)
    assert told(store) == {"b": ("skipped", "a"), "of b": ("orphaned", "b")}
    assert [one.key for one in store] == ["a"]
    assert store.vocabulary.terms(1)[0].document_count == 1


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


@pytest.mark.parametrize("options", [{}, {"text": False}])
def test_radius_alone_decides_whatever_the_texts_have_in_common(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    # The same words in another order: the same fingerprint, and not a shingle in common.
    words = LONG.split()
    turned = " ".join(reversed(words))
    with create(tmp_path, SchemeChoice("web"), **options) as made:
        made.add_many([("a", LONG), ("b", turned)], threads=1, on_duplicate="flag")
        assert distances(made) == {}
        made.add_many([("c", turned + " more")], on_duplicate="flag", radius=64, min_resemblance=1)
        assert distances(made) == {}
        made.add_many([("d", turned)], on_duplicate="flag", radius=0, min_resemblance=0.5)
        assert distances(made) == {"d": ("b", 0, 1.0, "same")}
        mixed = " ".join(random.Random(4).sample(words, len(words)))
        summary = made.add_many([("e", mixed)], on_duplicate="skip", radius=0)
        assert summary.skipped == 1
        original, distance, resemblance, basis = distances(made)["e"]
        assert (original, distance) == ("a", 0)
        assert resemblance is not None
        assert resemblance < 0.5
        assert basis == ("sketch" if options else "text")
        assert made.maintenance.fsck() == []


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


def test_course_tool_checks_by_distance_and_then_inserts(tmp_path: Path) -> None:
    scheme = SchemeChoice("simtool", bits=32, features=40)
    with create(tmp_path, scheme) as made:
        letters = "abcdefghij"
        words = [f"w{letters[n // 10]}{letters[n % 10]}" for n in range(40)]
        # The ranks are those of a generation, and the first documents make one.
        made.add_many([("a", " ".join(words)), ("z", "other")], on_duplicate="skip", radius=3)
        turned = " ".join(reversed(words))
        assert made.add("b", turned, on_duplicate="skip", radius=3) == "skipped"
        assert distances(made)["b"][:2] == ("a", 0)


# What the store was made to do
