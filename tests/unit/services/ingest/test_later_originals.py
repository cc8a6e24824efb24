"""An original that comes after its reprint is stored, and the reprint becomes its duplicate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.model import Document, Duplicate, WriteRequest
from simstore.services.clusters.cluster import ClusterOptions
from simstore.services.ingest import batches
from simstore.services.ingest.ingest import Observer
from simstore.store import Store

from .test_duplicate_checker import THREE_BITS, UNLIKE, A, B, C, add, add_dated, dated, told

DAY = 86_400
modes = pytest.mark.parametrize("mode", ["flag", "skip"])


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with create(tmp_path, THREE_BITS) as made:
        yield made
        assert made.maintenance.fsck() == []


def keys(store: Store) -> list[str]:
    return [one.key for one in store]


CASES = {
    "dates of a crawl": ({"seen_at": 3 * DAY}, {"seen_at": DAY}, "original"),
    "their own dates": (
        {"seen_at": 9 * DAY, "published_at": 3 * DAY},
        {"seen_at": 9 * DAY, "published_at": DAY},
        "original",
    ),
    "a link, where dates are equal": (
        {"seen_at": DAY, "links": ("original",)},
        {"seen_at": DAY},
        "original",
    ),
    "a link to what a crawl saw later": (
        {"seen_at": DAY, "links": ("original",)},
        {"seen_at": 3 * DAY},
        "original",
    ),
    "no link to each other": (
        {"seen_at": DAY, "links": ("original",)},
        {"seen_at": DAY, "links": ("reprint",)},
        "reprint",
    ),
    "equal dates": ({"seen_at": DAY}, {"seen_at": DAY}, "reprint"),
    "later dates": ({"seen_at": DAY}, {"seen_at": 3 * DAY}, "reprint"),
    "no dates": ({}, {}, "reprint"),
    "a link without dates": ({"links": ("original",)}, {}, "original"),
    "a link from a page with a date": (
        {"seen_at": 9 * DAY, "published_at": DAY, "links": ("original",)},
        {"seen_at": 9 * DAY, "published_at": 3 * DAY},
        "reprint",
    ),
}


@pytest.mark.slow
@modes
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("together", [False, True])
def test_show_and_duplicates_name_the_same_original(
    store: Store, mode: str, case: str, together: bool
) -> None:
    first, second, expected = CASES[case]
    documents = [dated("reprint", A, **first), dated("original", B, **second)]
    for part in [documents] if together else [documents[:1], documents[1:]]:
        add_dated(store, *part, mode=mode)
    other = "reprint" if expected == "original" else "original"
    # What is stored stays stored.
    is_stored = mode == "flag" or other == "reprint"
    assert told(store) == {other: ("flagged" if is_stored else "skipped", expected)}
    assert keys(store) == (["reprint", "original"] if is_stored else [expected])
    # What a document links to is known as long as it is stored.
    if mode == "flag" or case != "no link to each other":
        assert {store.duplicates.story(key).original for key in ("reprint", "original")} == {
            expected
        }
    if mode == "flag" and "link" not in case:
        (cluster,) = store.clusters.once(ClusterOptions(min_resemblance=0.5)).clusters
        assert cluster.key == expected


def test_a_reprint_stays_stored_and_is_flagged(store: Store) -> None:
    add_dated(store, dated("reprint", A, seen_at=300), mode="skip")
    heard: list[Duplicate] = []
    summary = add_dated(
        store, dated("original", B, seen_at=100), mode="skip",
        observer=Observer(on_displaced=heard.append),
    )  # fmt: skip
    assert (summary.added, summary.skipped, summary.displaced) == (1, 0, 1)
    (row,) = store.duplicates.list()
    assert heard == [row]
    assert (row.key, row.state, row.original) == ("reprint", "flagged", "original")
    assert (row.first_seen, row.last_seen, row.run_id) == (300, 300, summary.run_id)
    assert store.get("reprint", with_text=True).text == A
    assert [one.key for one in store.duplicates.list(original="original")] == ["reprint"]
    # It comes again, and nothing changes; once its original goes it is an original again.
    assert add_dated(store, dated("reprint", A, seen_at=400), mode="skip").unchanged == 1
    store.remove("original")
    assert told(store) == {}


def test_a_reprint_stays_flagged_where_others_were_skipped_because_of_it(store: Store) -> None:
    # C is like B, and not like A.
    add_dated(store, dated("reprint", B, seen_at=300), dated("other", C, seen_at=400), mode="skip")
    summary = add_dated(store, dated("original", A, seen_at=100), mode="skip")
    assert (summary.added, summary.displaced) == (1, 1)
    assert told(store) == {"reprint": ("flagged", "original"), "other": ("skipped", "reprint")}
    assert keys(store) == ["reprint", "original"]
    # It is no original: what is like it alone is stored, and those two hang together as before.
    assert add_dated(store, dated("new", C, seen_at=500), mode="skip").added == 1
    store.remove("original")
    assert told(store) == {"other": ("skipped", "reprint")}
    store.remove("reprint")
    assert [one.key for one in store.duplicates.list(state="orphaned")] == ["other"]


@modes
def test_a_record_that_dates_a_duplicate_earlier_makes_it_the_original(
    store: Store, mode: str
) -> None:
    add_dated(store, dated("a", A, seen_at=200), dated("b", B, seen_at=300), mode=mode)
    assert told(store) == {"b": ("flagged" if mode == "flag" else "skipped", "a")}
    summary = add_dated(store, dated("b", B, seen_at=100), mode=mode)
    assert told(store) == {"a": ("flagged", "b")}
    assert (summary.added, summary.unchanged) == ((0, 1) if mode == "flag" else (1, 0))
    assert summary.displaced == 1
    assert store.duplicates.story("a").original == "b"


def test_what_fails_under_way_leaves_the_reprint_where_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_dated(store, dated("reprint", A, seen_at=300), mode="skip")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the power fails")

    with monkeypatch.context() as patch:
        # The original is stored then, and the reprint is not noted yet.
        patch.setattr(batches, "as_duplicate", fail)
        with pytest.raises(RuntimeError):
            add_dated(store, dated("original", B, seen_at=100), mode="skip")
    assert (keys(store), told(store)) == (["reprint"], {})
    add_dated(store, dated("original", B, seen_at=100), mode="skip")
    expected = ["reprint", "original"], {"reprint": ("flagged", "original")}
    assert (keys(store), told(store)) == expected


def test_an_undated_page_is_no_original_of_what_came_before_it(store: Store) -> None:
    add(store, ("first", A), mode="skip")
    assert add(store, ("second", B), mode="skip").skipped == 1
    # A page's own date of long ago is believed, as by show.
    assert add_dated(store, dated("third", B, published_at=DAY), mode="skip").added == 1
    assert told(store) == {"first": ("flagged", "third"), "second": ("skipped", "first")}


def test_a_writer_tells_what_each_document_displaced(store: Store) -> None:
    documents = [
        Document("reprint", A, seen_at=300),
        Document("original", B, seen_at=100),
        Document("else", UNLIKE),
    ]
    with store.runs.writer() as writer:
        (reply,) = writer.write([WriteRequest(tuple(documents), "skip", 0.75)])
    assert not isinstance(reply, Exception)
    assert [one.outcome for one in reply.outcomes] == ["added"] * 3
    assert [[d.key for d in one.displaced] for one in reply.outcomes] == [[], ["reprint"], []]
