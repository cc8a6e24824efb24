"""A backup takes the place of no store that is open: what is written there would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from simstore import Store
from simstore.errors import Conflict

pytestmark = pytest.mark.sqlite("of files")


@pytest.mark.parametrize("written", [False, True], ids=["read", "written"])
def test_a_store_that_is_open_is_not_replaced(tmp_path: Path, written: bool) -> None:
    with Store(tmp_path / "copy.db") as store, Store(tmp_path / "live.db") as live:
        store.add("a", "one text")
        live.add("b", "another text")
        if written:
            live.maintenance.backup(tmp_path / "older.db")
        assert len(live) == 1
        with pytest.raises(Conflict, match="open in another process"):
            store.maintenance.backup(tmp_path / "live.db", replace=True)
        live.add("c", "a third text")
        live.close()
        with Store(tmp_path / "live.db") as again:
            assert [one.key for one in again.list()] == ["b", "c"]
        store.maintenance.backup(tmp_path / "live.db", replace=True)
        with Store(tmp_path / "live.db") as again:
            assert [one.key for one in again.list()] == ["a"]
