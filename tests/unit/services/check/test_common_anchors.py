"""Documents that have a common anchor are read only where a run of the paper may be in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rapidfuzz", reason="needs rapidfuzz (the extra check)")

from simstore import Store
from simstore.model import CheckOptions
from simstore.services.check import check_index

STOCK = "the figures given here may change as further returns come in"
COUNT = 400
OWN = "my own words before it all of them new {} and nobody wrote what comes behind it ever"


def document(number: int) -> str:
    words = [f"w{number}x{n}" for n in range(24)]
    return f"{' '.join(words[:12])} {STOCK} {' '.join(words[12:])}"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The documents whose texts were read."""
    found: list[int] = []
    texts: Callable[..., dict[int, str]] = check_index.StoredPassages.texts

    def noted(self: Any, document_ids: Any) -> dict[int, str]:
        found.extend(document_ids)
        return texts(self, document_ids)

    monkeypatch.setattr(check_index.StoredPassages, "texts", noted)
    return found


def made(path: Path, **parameters: Any) -> Store:
    store = Store.create(path, synchronous="normal", **parameters)
    store.passages.build()
    store.add_many([(f"d{n}", document(n)) for n in range(COUNT)])
    return store


@pytest.mark.parametrize("fast", [False, True])
def test_few_documents_of_a_stock_sentence_are_read(
    tmp_path: Path, read: list[int], fast: bool
) -> None:
    with made(tmp_path / "s.db") as store:
        options = CheckOptions(fast=fast)
        checked = store.check(OWN.format(STOCK), options)
        assert checked.totals.identical >= len(STOCK.replace(" ", ""))
        assert len(set(read)) < COUNT / 2
        # What one of them has beside it is found in that one.
        words = document(COUNT - 3).split()
        paper = OWN.format(" ".join(words[8:28]))
        read.clear()
        found = store.check(paper, options)
        assert f"d{COUNT - 3}" in {copy.source_key for copy in found.copies}
        assert found.totals.identical >= len("".join(words[8:28]))


def test_stores_without_texts_keep_the_lengths_of_anchors(tmp_path: Path) -> None:
    with made(tmp_path / "s.db", text=False) as store:
        held = store._opened.state
        with store._opened.database.read() as connection:
            assert held(connection).passages.neighbours is False
        assert store.check(document(7)).copies
        assert store.maintenance.fsck() == []
