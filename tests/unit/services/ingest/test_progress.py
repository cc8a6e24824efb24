"""What an ingest tells of its progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simstore import Store
from simstore.model import IngestProgress
from simstore.services.ingest.ingest import IngestOptions, Observer


@pytest.mark.slow
def test_bytes_are_those_of_the_documents_that_are_committed(tmp_path: Path) -> None:
    # Each record has as many bytes, and all of them many times what is read at once.
    record = {"text": " ".join(f"word{n}" for n in range(200))}
    source = tmp_path / "pages.jsonl"
    lines = [json.dumps({"key": f"{n:06}"} | record) + "\n" for n in range(6_000)]
    source.write_text("".join(lines), "utf-8")
    told: list[IngestProgress] = []
    with Store.create(tmp_path / "s.db") as store:
        store.ingest(
            [str(source)],
            options=IngestOptions(batch_documents=500),
            observer=Observer(on_progress=told.append),
        )
    # The end of the source is told of, too.
    assert [state.document_count for state in told] == [*range(500, 6_001, 500), 6_000]
    size = source.stat().st_size
    for state in told:
        committed = state.document_count * len(lines[0])
        assert committed <= state.byte_count <= min(committed + (1 << 20), size)
        assert state.total_bytes == size
