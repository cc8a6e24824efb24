"""The story of a key: when it was seen, what is like it, and which is the original."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stores import create

from simstore.errors import DocumentNotFound
from simstore.model import Document, Version
from simstore.services.clusters import read
from simstore.services.history.seen import digest_of
from simstore.store import Store

DAY = 86_400
TEXT = "the harbour was quiet at dawn and the first boats came in with the tide and the wind"
NEAR = TEXT.replace("quiet", "silent")
A, B, C = "https://a.example/page", "https://b.example/page", "https://c.example/page"


def visit(store: Store, key: str, text: str, *days: float, links: tuple[str, ...] = ()) -> None:
    for day in days:
        store.add_many([Document(key, text, seen_at=int(day * DAY), links=links)])


def relatives(store: Store, key: str) -> dict[str, tuple[Any, ...]]:
    return {
        one.key: (one.state, one.relation, one.resemblance, one.distance)
        for one in store.duplicates.story(key).relatives
    }


def test_versions_are_listed_with_their_times(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        visit(store, "k", "one", 1, 3)
        visit(store, "k", "two", 5, 9)
        found = store.duplicates.story("k")
        assert found.versions == (
            Version(digest_of("one").hex(), 1 * DAY, 3 * DAY),
            Version(digest_of("two").hex(), 5 * DAY, 9 * DAY),
        )
        assert (found.first_seen_basis, found.relatives, found.original) == ("crawl", (), "k")


def test_copies_duplicates_and_members_of_the_cluster_are_relatives(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        visit(store, A, TEXT, 10)
        visit(store, B, TEXT, 11)
        store.add("flagged", NEAR, seen_at=13 * DAY, on_duplicate="flag", min_resemblance=0.3)
        store.add("skipped", NEAR, seen_at=14 * DAY, on_duplicate="skip", min_resemblance=0.3)
        # Later than these, which would be its copies otherwise.
        visit(store, C, NEAR, 15)
        store.add("other", "nothing of the kind is said here at all, not a single word")
        (match,) = (one for one in store.query(NEAR, radius=64) if one.key == A)
        near = (pytest.approx(match.resemblance), match.distance)
        assert relatives(store, A) == {
            B: ("stored", "same text", 1.0, 0),
            "flagged": ("flagged", "duplicate", *near),
            "skipped": ("skipped", "duplicate", *near),
        }
        store.clusters.build(min_resemblance=0.3)
        found = relatives(store, A)
        assert found[B] == ("stored", "same text", 1.0, 0)
        assert found[C] == ("stored", "cluster", *near)
        assert found["flagged"] == ("flagged", "cluster", *near)
        assert set(found) == {B, C, "flagged", "skipped"}
        assert store.duplicates.story(A).cluster_id is not None


def test_member_that_is_removed_while_a_story_is_told_is_no_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(tmp_path) as store:
        store.add("one", TEXT)
        store.add("other", TEXT + " and a little more of it")
        store.clusters.build(min_resemblance=0.3)
        assert list(relatives(store, "one")) == ["other"]
        members_of = read.cluster_members

        def removed_after(*given: Any) -> Any:
            found = members_of(*given)
            store.remove("other")
            return found

        monkeypatch.setattr(read, "cluster_members", removed_after)
        assert relatives(store, "one") == {}


def test_story_of_a_skipped_key_names_its_original(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        visit(store, A, TEXT, 10)
        store.add("skipped", TEXT, seen_at=15 * DAY, on_duplicate="skip")
        found = store.duplicates.story("skipped")
        assert (found.state, found.duplicate_of, found.versions) == ("skipped", A, ())
        assert [(one.key, one.resemblance) for one in found.relatives] == [(A, 1.0)]
        assert found.original == A
        assert store.duplicates.story(A).original == A
        # Of one that was seen before, both are duplicates, whichever came first.
        assert store.add("first", TEXT, seen_at=5 * DAY, on_duplicate="skip") == "added"
        assert {store.duplicates.story(key).original for key in ("first", A)} == {"first"}
        with pytest.raises(DocumentNotFound):
            store.duplicates.story("never")


def test_original_is_told_with_the_reason(tmp_path: Path) -> None:
    with create(tmp_path) as store:
        visit(store, A, TEXT, 10, links=(B, "elsewhere"))
        visit(store, B, TEXT, 10)
        found = store.duplicates.story(A)
        assert (found.original, found.links_to) == (B, (B,))
        assert found.reason.endswith("another links to it")
        assert store.duplicates.story(B).original == B
        assert store.duplicates.story(A, original="prefer:a.example").original == A
        assert store.duplicates.story(A, original="linked").original == B
        # Its own date settles it.
        store.add_many([Document(A, TEXT, seen_at=12 * DAY, published_at=2 * DAY)])
        assert store.duplicates.story(A).original == A
