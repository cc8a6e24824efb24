"""Filters by metadata that no document can pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from served import serve

from simstore import Client, InvalidParameter, Store

TEXT = "the ferry to the island leaves the old quay at nine every morning"


def test_field_that_no_document_has_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("fastapi")
    path = tmp_path / "s.db"
    with Store.create(path) as store:
        store.add("a", TEXT, metadata={"lang": "en"})
    with serve(path, create=False) as running, Client(running.url) as client, Store(path) as store:
        for face in (store, client):
            caplog.clear()
            assert list(face.query(TEXT, where={"lang": "fr"})) == []
            assert caplog.messages == []
            assert list(face.query(TEXT, where={"lagn": "en"})) == []
            assert caplog.messages == ["no stored document has the metadata field lagn"]


def test_value_that_is_no_scalar_is_refused(tmp_path: Path) -> None:
    wanted = "a string or a whole number or a number"
    with Store.create(tmp_path / "s.db") as store, pytest.raises(InvalidParameter, match=wanted):
        store.query(TEXT, where={"year": [2024]})  # type: ignore[dict-item]
