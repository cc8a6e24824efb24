"""Parquet and Arrow."""

from __future__ import annotations

import datetime
import io
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from simstore.model import Document, Rejection
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions, SourceReader
from simstore.sources.registry import reader_named

from .reading import check_goes_on_anywhere, documents, read_file, read_stream, reasons, rejections

pytestmark = pytest.mark.parquet

ROWS = [{"id": n, "text": f"text {n}", "site": "a.example"} for n in range(25)]
EXPECTED = [(str(n), f"text {n}") for n in range(25)]
FORMATS = ["parquet", "feather", "arrow", "stream"]


@pytest.fixture(autouse=True)
def pyarrow() -> Any:
    return pytest.importorskip("pyarrow")


def packed(rows: list[dict[str, Any]], kind: str, part: int = 10) -> bytes:
    """Return a table as a file whose groups or batches have so many rows."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.Table.from_pylist(rows)
    out = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, out, row_group_size=part)
    elif kind == "feather":
        feather.write_feather(table, out, chunksize=part)
    else:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=part)
    return out.getvalue()


def reader(kind: str) -> SourceReader:
    return reader_named("parquet") if kind == "parquet" else reader_named("arrow")


def test_row_is_a_document_wherever_reading_begins() -> None:
    for kind in FORMATS:
        records = check_goes_on_anywhere(reader(kind), packed(ROWS, kind))
        assert documents(records) == EXPECTED, kind
        assert [record.position for record in records] == list(range(25)), kind
        assert [record.byte_offset for record in records] == [0] * 10 + [1] * 10 + [2] * 5, kind
        first = records[0]
        assert isinstance(first, Document), kind
        assert first.metadata == {"site": "a.example"}, kind


def test_size_of_groups_changes_nothing() -> None:
    for part in (7, 2_500):
        for kind in FORMATS:
            rows = [{"text": f"{n}"} for n in range(2_500)]
            records = read_stream(reader(kind), packed(rows, kind, part))
            assert documents(records) == [(f"name:{n + 1}", f"{n}") for n in range(2_500)], (
                part,
                kind,
            )


def test_values_become_metadata_that_json_has_a_form_for() -> None:
    row = {
        "text": "t",
        "when": datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 5, 1),
        "price": Decimal("1.50"),
        "share": float("nan"),
        "picture": b"\x89PNG",
        "nested": {"deep": [1, None], "raw": b"x", "kept": True},
        "lasting": datetime.timedelta(seconds=90),
        "nothing": None,
    }
    (record,) = read_stream(reader_named("parquet"), packed([row], "parquet"))
    assert isinstance(record, Document)
    assert record.metadata == {
        "when": "2026-05-01T12:00:00+00:00",
        "day": "2026-05-01",
        "price": "1.50",
        "share": None,
        "nested": {"deep": [1, None], "kept": True},
        "lasting": 90.0,
        "nothing": None,
    }


def test_rows_without_a_text_are_rejected_and_the_rest_is_read() -> None:
    for kind in FORMATS:
        rows = [{"id": 1, "text": "a"}, {"id": 2, "text": None}, {"id": 3, "text": "c" * 101}]
        records = read_stream(reader(kind), packed(rows, kind, 2), max_document_bytes=100)
        assert documents(records) == [("1", "a")], kind
        assert rejections(records) == [(1, 0), (2, 1)], kind
        assert "is not a string" in reasons(records)[0], kind
        assert "more than the limit" in reasons(records)[1], kind


def test_damaged_file_is_read_as_far_as_it_goes() -> None:
    for kind in FORMATS:
        data = packed(ROWS, kind, 5)
        for cut in (8, len(data) // 2, len(data) - 1):
            records = read_stream(reader(kind), data[:cut])
            found = documents(records)
            assert found == EXPECTED[: len(found)], kind
            # The end mark of a stream of batches may be missing.
            assert len(found) == len(records) - 1 or (kind == "stream" and len(found) == 25), kind
            for one in records[len(found) :]:
                assert isinstance(one, Rejection), kind
                assert one.position == len(found), kind
                assert "\n" not in one.reason, kind


def test_text_that_lies_outside_of_its_batch_is_damage() -> None:
    for place in (-1, 1 << 30):
        for kind in ("feather", "arrow", "stream"):
            import pyarrow as pa
            from pyarrow import feather

            rows = [{"text": text} for text in ("river", "stone", "fern", "a gull")]
            if kind == "feather":
                held = io.BytesIO()
                feather.write_feather(pa.Table.from_pylist(rows), held, "uncompressed", chunksize=2)
                whole = held.getvalue()
            else:
                whole = packed(rows, kind, 2)
            ends = struct.pack("<3i", 0, 4, 10)
            assert whole.count(ends) == 1, (place, kind)
            records = read_stream(
                reader(kind), whole.replace(ends, struct.pack("<3i", 0, place, 10))
            )
            assert [text for _, text in documents(records)] == ["river", "stone"], (place, kind)
            (reason,) = reasons(records)
            assert reason.startswith("the table is damaged: "), (place, kind)
            assert rejections(records) == [(2, 0)], (place, kind)


def test_bytes_that_were_read_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(packed([{"text": f"{n} " * 20_000} for n in range(20)], "parquet", 1))
    source = FileSource(str(path), ReadOptions())
    assert len(list(source.records())) == 20
    assert source.bytes_read >= path.stat().st_size


def test_table_without_a_column_for_the_text_is_one_rejection_that_names_its_columns() -> None:
    for kind in FORMATS:
        rows = [{"id": n, "story": f"text {n}"} for n in range(25)]
        records = read_stream(reader(kind), packed(rows, kind))
        assert rejections(records) == [(0, 0)], kind
        assert reasons(records) == [
            "no text: none of the fields text, content, body; there are id, story "
            "(text_field names the text)"
        ], kind
        assert (
            documents(read_stream(reader(kind), packed(rows, kind), text_field="story")) == EXPECTED
        ), kind


def test_parquet_is_told_by_its_content(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.bin", "a.parquet.gz", "a.txt"):
        import gzip

        data = packed(ROWS, "parquet")
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        assert documents(read_file(path)) == EXPECTED, name


def test_stream_of_batches_is_told_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "data-00000-of-00001.arrow"
    path.write_bytes(packed(ROWS, "stream"))
    assert documents(read_file(path)) == EXPECTED
