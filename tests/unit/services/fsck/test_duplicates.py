"""fsck finds what is wrong with duplicates."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import create, raw

from simstore.store import Store

TEXT = "the lamp on the old bridge was lit when the tide came in at last"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE duplicate SET document_id = 1 WHERE key = CAST('b' AS BLOB)",
            "'b' is flagged, and no document of this key is meant",
        ),
        (
            "UPDATE duplicate SET state = 'orphaned' WHERE key = CAST('c' AS BLOB)",
            "'c' is an orphan, and has an original",
        ),
        (
            "UPDATE duplicate SET original_id = NULL WHERE key = CAST('c' AS BLOB)",
            "'c' is skipped, and has no original",
        ),
        ("UPDATE duplicate SET original_id = 2 WHERE key = CAST('b' AS BLOB)", "its own original"),
        (
            "UPDATE duplicate SET original_id = 2 WHERE key = CAST('c' AS BLOB)",
            "'c' names another original",
        ),
        (
            "UPDATE duplicate SET original_id = 2 WHERE key = CAST('e' AS BLOB)",
            "'e' is flagged because of a document that is flagged itself",
        ),
        (
            "UPDATE duplicate SET basis = 'text' WHERE key = CAST('b' AS BLOB)",
            "'b' is said to be found by 'text', and its original's text is the same",
        ),
        (
            "UPDATE duplicate SET resemblance = 0.5 WHERE key = CAST('c' AS BLOB)",
            "'c' has the text of its original, and is said to differ from it",
        ),
    ],
)
def test_each_kind_of_damage_is_named(tmp_path: Path, statement: str, problem: str) -> None:
    with create(tmp_path) as store:
        store.add("a", TEXT)
        store.add("b", TEXT, on_duplicate="flag")
        store.add("c", TEXT, on_duplicate="skip")
        store.add("d", "something else")
        store.add("e", TEXT, on_duplicate="flag")
        assert store.maintenance.fsck() == []
    with raw(tmp_path) as connection:
        assert connection.execute(statement).rowcount == 1
    with Store.open(tmp_path / "s.db") as store:
        found = store.maintenance.fsck()
    assert {one.invariant for one in found} == {"duplicates"}
    assert any(problem in one.detail for one in found)
    assert all(one.remedy for one in found)
