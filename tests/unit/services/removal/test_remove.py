from __future__ import annotations

from pathlib import Path

import pytest
from stores import SIMTOOL, TEXTS, WEB, filled

from simstore.services.maintenance.scheme_choice import SchemeChoice
from simstore.services.removal import remove


def test_number_of_a_removed_document_is_not_given_out_again(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        last = max(one.document_id for one in store)
        store.remove("stone")
        store.add("stone", TEXTS["stone"])
        assert store.get("stone").document_id > last


@pytest.mark.parametrize("scheme", [SIMTOOL, WEB])
def test_removal_in_several_batches_goes_on_after_an_interruption(
    tmp_path: Path, scheme: SchemeChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(done: int, _total: int) -> None:
        if done >= 4:
            raise Interrupted

    monkeypatch.setattr(remove, "BATCH_DOCUMENTS", 2)
    gone = [key for key in TEXTS if key != "bread"]
    with filled(tmp_path, scheme) as store:
        with pytest.raises(Interrupted):
            store.remove(*gone, on_progress=interrupt)
        assert len(store) == len(TEXTS) - 4
        assert store.maintenance.fsck() == []
        assert store.remove(*gone, missing_ok=True) == len(gone) - 4
        assert [one.key for one in store] == ["bread"]
        assert store.stats().fresh
        assert store.maintenance.fsck() == []
