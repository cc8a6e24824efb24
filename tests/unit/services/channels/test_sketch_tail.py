"""The sketches that are not packed, in the memory of an open store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simstore.index import tuning
from simstore.services.channels import pack_sketches
from simstore.storage.sketches import SketchTable
from simstore.store import Store

pytestmark = pytest.mark.sqlite("others may write beside a writer of PostgreSQL")


def text(number: int, edit: str = "") -> str:
    return " ".join(f"word{number * 97 + place}" for place in range(60)) + edit


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers above which sketches were read."""
    numbers: list[int] = []
    read_after = SketchTable.read_after

    def noting(tables: SketchTable, connection: Any, scheme: int, after: int) -> Iterator[Any]:
        numbers.append(after)
        return read_after(tables, connection, scheme, after)

    monkeypatch.setattr(SketchTable, "read_after", noting)
    return numbers


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.db") as opened:
        opened.add_many([(f"{n}", text(n)) for n in range(20)])
        yield opened


def flagged(store: Store, key: str, content: str) -> bool:
    return store.add(key, content, on_duplicate="flag") == "flagged"


def test_what_others_store_is_read(store: Store, read: list[int], tmp_path: Path) -> None:
    flagged(store, "20", text(20))
    with Store.open(tmp_path / "s.db") as other:
        other.add("21", text(21))
    assert flagged(store, "copy", text(21, " more"))
    assert read == [0, 21]


def test_what_was_not_committed_is_forgotten(
    store: Store, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    flagged(store, "20", text(20))

    def failing(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("simstore.services.ingest.new_document.note_changes", failing)
        with pytest.raises(KeyboardInterrupt):
            store.add("21", text(21), on_duplicate="flag")
    assert not flagged(store, "22", text(22))
    assert flagged(store, "copy", text(22, " more"))
    assert not flagged(store, "21", text(21))
    assert read == [0, 0]


def test_what_is_in_runs_leaves_the_tail(
    store: Store, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    flagged(store, "20", text(20))
    monkeypatch.setattr(tuning, "TAIL_SKETCHES", 4)
    assert pack_sketches.pack_long_tail(store._opened, "minhash")
    read.clear()
    assert flagged(store, "copy", text(20, " more"))
    assert read == [21]
    held = store._opened.cache.latest(("tail", "minhash"))
    assert (held.tail.after, len(held.tail)) == (21, 42)


def test_a_layout_is_read_when_there_is_another(store: Store, tmp_path: Path) -> None:
    flagged(store, "20", text(20))
    with Store.open(tmp_path / "s.db") as other:
        other.maintenance.compact(bands=(20, 5))
    assert not flagged(store, "21", text(21))
    assert flagged(store, "copy", text(20, " more"))
