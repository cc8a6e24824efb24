"""Which pages of bands a writer looks up: all at first, then those that may carry something."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simstore.storage.sketches import SketchTables
from simstore.store import Store

STORED, ADDED = 1_000, 8


def text(number: int) -> str:
    chance = random.Random(number)
    return " ".join(f"word{chance.randrange(4_000)}" for _ in range(80))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many pages each look-up asks for."""
    counts: list[int] = []
    pages = SketchTables.pages

    def counting(
        tables: SketchTables, connection: Any, layout_id: int, numbers: Sequence[int]
    ) -> Mapping[int, bytes]:
        counts.append(len(numbers))
        return pages(tables, connection, layout_id, numbers)

    monkeypatch.setattr(SketchTables, "pages", counting)
    return counts


def test_a_writer_soon_knows_which_pages_it_would_read_in_vain(
    tmp_path: Path, asked: list[int]
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
    with Store.open(tmp_path / "s.db") as store:
        for number in range(STORED, STORED + ADDED):
            assert store.add(f"{number}", text(number), on_duplicate="flag") == "added"
        assert len(asked) == ADDED
        # A page a band that originals are looked for by.
        assert asked[0] > 15
        # After these, looking pages up has taken as long as reading all of them: 16 a band.
        assert max(asked[3:]) < asked[0] / 2
        assert store.add("copy", f"{text(7)} more", on_duplicate="flag") == "flagged"


def test_what_stands_in_one_page_alone_is_told_by_its_values(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store:
        store.add_many([(f"{n}", text(n)) for n in range(STORED)])
        store.maintenance.pack()
        for turn in range(20):
            words = text(turn).split()
            # From near copies to texts of which a few bands, or none, agree.
            words[: 3 * turn] = text(STORED + turn).split()[: 3 * turn]
            outcome = store.add(f"edit {turn}", " ".join(words), on_duplicate="flag")
            assert outcome == ("flagged" if turn <= 2 else "added"), turn
