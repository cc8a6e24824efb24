"""A store is told on the command line to keep the segment columns of what it packs."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import Nursery


@pytest.mark.slow
def test_columns_are_kept_by_init_and_compact(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("key\nOne text of some words.\n\f")

    def run(*words: str) -> str:
        done = nursery.simstore(tmp_path, *words)
        assert done.code == 0, done.errors
        return done.text

    run("init", "--keep-columns", "--db", "made.db")
    assert '"keep_columns": true' in run("stats", "--format", "json", "--db", "made.db")
    run("init", "--db", "plain.db")
    run("compact", "--keep-columns", "--db", "plain.db")
    run("ingest", "one.txt", "--db", "plain.db")
    run("compact", "--db", "plain.db")
    assert '"packed_fingerprints": 1' in run("stats", "--format", "json", "--db", "plain.db")
    assert run("fsck", "--db", "plain.db") == "sound\n"
    run("compact", "--drop-columns", "--db", "plain.db")
    assert '"keep_columns": false' in run("stats", "--format", "json", "--db", "plain.db")
    run("init", "--fingerprints-only", "--keep-columns", "--db", "given.db")
    assert '"keep_columns": true' in run("stats", "--format", "json", "--db", "given.db")
