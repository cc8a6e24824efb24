"""Whether a key or a text was seen, and what became of it."""

from __future__ import annotations

from pathlib import Path

from stores import create

from simstore.model import Document

TEXT = "the harbour was quiet at dawn and the first boats came in with the tide and the wind"


def test_what_a_flagged_document_was_before_it_was_stored_does_not_count(tmp_path: Path) -> None:
    other = "a letter from the mill tells of corn and rain and of the price of lamps in the south"
    with create(tmp_path) as store:
        store.add("original", TEXT, seen_at=1)
        store.add("key", TEXT, seen_at=9, on_duplicate="skip")
        store.remove("original")
        store.add_many([Document("again", TEXT, seen_at=2), Document("other", other, seen_at=2)])
        assert store.add("key", TEXT, seen_at=4, on_duplicate="flag") == "flagged"
        flagged = store.seen("key")
        assert flagged is not None
        assert (flagged.state, flagged.last_seen) == ("flagged", 4)
        assert store.add("key", other, seen_at=6, on_duplicate="skip") == "skipped"
        skipped = store.seen("key")
        assert skipped is not None
        assert (skipped.state, skipped.last_seen) == ("skipped", 6)
