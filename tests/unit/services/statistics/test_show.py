"""A store in numbers: what is counted, and what is read for it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from heard import heard

from simstore import Store

__all__ = ["heard"]
TEXTS = [("a", "river " * 50), ("b", "river " * 50), ("c", "stone and water"), ("d", "")]


@pytest.mark.sqlite
def test_sizes_are_counted_where_they_are_asked_for(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many(TEXTS)
        store.passages.build()
        found = store.stats()
        assert (found.stored_text_bytes, found.sketch_bytes, found.passage_bytes) == (None,) * 3
        sized = store.stats(sizes=True)
        status = store.passages.status()
        unsized = store.passages.status(sizes=False)
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        (texts,) = connection.execute("SELECT sum(length(text)) FROM document_text").fetchone()
        (sketches,) = connection.execute("SELECT sum(length(sketch)) FROM sketch").fetchone()
    assert status is not None
    assert status.stored_bytes
    assert sized == replace(
        found,
        stored_text_bytes=texts,
        sketch_bytes=sketches,
        passage_bytes=status.stored_bytes,
    )
    assert unsized == replace(status, stored_bytes=None)
