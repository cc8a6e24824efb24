"""Look-ups by segment leave nothing open when their store is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from simstore import Store
from simstore.storage.fingerprints.postings import Postings


def test_a_store_closes_its_file_though_an_error_still_holds_a_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Postings] = []
    make = Postings.__init__

    def make_and_hold(self: Postings, *arguments: object) -> None:
        make(self, *arguments)  # type: ignore[arg-type]
        held.append(self)

    monkeypatch.setattr(Postings, "__init__", make_and_hold)
    texts = [f"{number} bottles on the wall, {number} of them green" for number in range(40)]
    with Store.create(tmp_path / "store.db") as store:
        store.add_many([(str(number), text) for number, text in enumerate(texts)])
        store.maintenance.compact()
    # The last one to close a file removes its log.
    with Store.open(tmp_path / "store.db") as store:
        assert store.query(texts[3], plan="segments")[0].key == "3"
        assert any(one.has_pages for one in held)
    assert [one.name for one in tmp_path.iterdir()] == ["store.db"]
