"""Rows of Parquet and Arrow files keep columns, types and order."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from pathlib import Path

import pytest

from simstore.errors import InvalidParameter
from simstore.model import Document, Rejection
from simstore.rows.batch import DROPPED, KEPT, PASSED, RowFile
from simstore.rows.inputs import row_file
from simstore.sources.reader import ReadOptions

pa = pytest.importorskip("pyarrow", reason="pip install '.[parquet]' runs these tests")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.parquet

COUNT = 5_000


def _table() -> pa.Table:
    return pa.table(
        {
            "when": pa.array(
                [datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)] * COUNT,
                pa.timestamp("us", "UTC"),
            ),
            "text": pa.array([f"row {n}" if n % 1_000 else None for n in range(COUNT)]),
            "price": pa.array([Decimal("2.50")] * COUNT, pa.decimal128(7, 2)),
            "id": pa.array(range(COUNT), pa.int32()),
            "kind": pa.array(["a", "b"] * (COUNT // 2)).dictionary_encode(),
            "parts": pa.array([[1, None]] * COUNT, pa.list_(pa.int16())),
            "raw": pa.array([b"\x00\xff"] * COUNT),
        }
    ).replace_schema_metadata({"made": "by hand"})


def _written(path: Path) -> Path:
    table = _table()
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="gzip", row_group_size=1_500)
    else:
        make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with make(path, table.schema) as target:
            target.write_table(table, max_chunksize=1_700)
    return path


def _read(path: Path) -> RowFile:
    return row_file(str(path), path.name, ReadOptions())


def _table_of(name: str, data: bytes) -> pa.Table:
    if name.endswith(".parquet"):
        return pq.read_table(io.BytesIO(data))
    if name.endswith(".arrows"):
        return pa.ipc.open_stream(data).read_all()
    return pa.ipc.open_file(data).read_all()


def _copied(file: RowFile, fates: list[int], marks: dict[str, list[object]] | None = None) -> bytes:
    marks = marks or {}
    target = io.BytesIO()
    begin = 0
    with file.writer(target, tuple(marks)) as writer:
        for content in file.again([(0, 0)] * len(fates)):
            end = begin + content.batch.num_rows  # type: ignore[union-attr]
            held = {name: values[begin:end] for name, values in marks.items()}
            writer.write(content, fates[begin:end], held)
            begin = end
    return target.getvalue()


def test_rows_of_types_that_arrow_cannot_filter_keep_their_types(tmp_path: Path) -> None:
    texts = [f"a text with a number, which is {n}" for n in range(7)]
    table = pa.table(
        {
            "text": pa.array(texts, pa.string_view()),
            "parts": pa.array([[text] for text in texts], pa.list_(pa.string_view())),
            "inner": pa.array([{"a": text} for text in texts], pa.struct({"a": pa.string_view()})),
        }
    )
    for kept in ([0, 3, 6], [4], []):
        for name in ("t.parquet", "t.arrow"):
            with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as target:
                target.write_table(table)
            pq.write_table(table, tmp_path / "t.parquet")
            file = _read(tmp_path / name)
            made = _table_of(
                name, _copied(file, [KEPT if n in kept else DROPPED for n in range(7)])
            )
            assert made.schema == table.schema, name
            assert made["inner"].to_pylist() == [{"a": texts[n]} for n in kept], name
            assert made["text"].to_pylist() == [texts[n] for n in kept], name


def test_a_text_and_a_key_of_bytes_are_read_as_utf_8(tmp_path: Path) -> None:
    columns = {"id": [b"a", b"b"], "Text": ["Grüße".encode(), b"\xff"], "raw": [b"\xff", b"\xff"]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    ((first, second),) = [batch.rows for batch in _read(tmp_path / "t.parquet").batches()]
    assert isinstance(first, Document)
    assert (first.key, first.text) == ("a", "Grüße")
    assert isinstance(second, Rejection)
    assert "holds bytes that are not UTF-8" in second.reason


def test_rows_keep_columns_types_and_order(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.arrow", "t.arrows"):
        file = _read(_written(tmp_path / name))
        rows = [row for batch in file.batches() for row in batch.rows]
        assert [row.key for row in rows[1:4] if isinstance(row, Document)] == ["1", "2", "3"], name
        assert [n for n, row in enumerate(rows) if isinstance(row, Rejection)] == [
            *range(0, COUNT, 1_000)
        ], name
        fates = [DROPPED if n % 3 else KEPT for n in range(COUNT)]
        made = _table_of(name, _copied(file, fates))
        whole = _table_of(name, (tmp_path / name).read_bytes())
        expected = whole.filter(pa.array([not n % 3 for n in range(COUNT)]))
        assert made.schema.equals(expected.schema, check_metadata=True), name
        assert made.equals(expected), name


def test_parquet_is_compressed_as_it_was(tmp_path: Path) -> None:
    file = _read(_written(tmp_path / "t.parquet"))
    made = _copied(file, [KEPT] * COUNT)
    assert pq.ParquetFile(io.BytesIO(made)).metadata.row_group(0).column(0).compression == "GZIP"


def test_added_columns_have_types(tmp_path: Path) -> None:
    for name in ("t.parquet", "t.arrow"):
        file = _read(_written(tmp_path / name))
        fates = [PASSED, *[KEPT] * (COUNT - 1)]
        marks: dict[str, list[object]] = {
            "duplicate_of": ["x"] * COUNT,
            "resemblance": [0.5] * COUNT,
            "cluster": [1] * COUNT,
        }
        made = _table_of(name, _copied(file, fates, marks))
        assert made.num_rows == COUNT, name
        assert [str(made.schema.field(one).type) for one in marks] == [
            "string",
            "double",
            "int64",
        ], name
        assert made["duplicate_of"][:2].to_pylist() == [None, "x"], name


def test_columns_that_are_there_already_are_refused(tmp_path: Path) -> None:
    file = _read(_written(tmp_path / "t.parquet"))
    with pytest.raises(InvalidParameter, match="kind already"), file.writer(io.BytesIO(), ["kind"]):
        pass


def test_a_damaged_table_gives_no_rows(tmp_path: Path) -> None:
    path = _written(tmp_path / "t.parquet")
    data = bytearray(path.read_bytes())
    data[10:200] = b"\xff" * 190
    path.write_bytes(data)
    (batch,) = _read(path).batches()
    assert batch.damage is not None
