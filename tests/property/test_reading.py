"""Readers on any bytes: nothing is raised, nothing is left out, reading goes on anywhere."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tempfile
from pathlib import Path
from typing import Any

import pytest
from archives import tarred, zipped
from hypothesis import example, given
from hypothesis import strategies as st

from simstore.errors import UnreadableSource
from simstore.model import Document, Rejection
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions, ReadRequest, SourceReader
from simstore.sources.registry import reader_named
from simstore.sources.source import Record
from simstore.sources.unpacking import zstd

READERS: list[SourceReader] = [
    reader_named("articles"),
    reader_named("csv"),
    reader_named("jsonl"),
    reader_named("lines"),
    reader_named("text"),
]
# Pieces that mean something to one of the formats, and any others.
pieces = st.one_of(
    st.sampled_from(
        [b"\n", b"\r\n", b"\r", b"\f", b'"', b'""', b",", b"\t", b";", b"\x00", b"\xff", b"a",
         b"\xef\xbb\xbf", b"id,text\n", b"text\tid\n", b'{"id": 1, "text": "x"}\n', b"[]\n",
         b'{"text": ', b"{}", b"\\ud800", b"  ", "天".encode(), b"\xff\xfe", b'"text"\n', b"1e999",
         b"x" * 50]
    ),
    st.binary(max_size=4),
)  # fmt: skip
any_bytes = st.lists(pieces, max_size=30).map(b"".join)
tables = any_bytes.map(lambda data: b"id,text\n" + data)
limits = st.sampled_from([None, 1, 20, 100])


def read(
    reader: SourceReader, data: bytes, limit: int | None, place: tuple[int, int]
) -> list[Record]:
    stream = io.BufferedReader(io.BytesIO(data))
    stream.seek(place[1])
    options = ReadOptions(max_document_bytes=limit)
    return list(reader.read(stream, ReadRequest("name", *place, options, data[:65_536])))


def check(reader: SourceReader, data: bytes, limit: int | None) -> None:
    whole = read(reader, data, limit, (0, 0))
    position = end = 0
    for count, record in enumerate(whole, start=1):
        assert record.position is not None
        assert record.byte_offset is not None
        assert record.end_offset is not None
        assert record.position >= position
        assert end <= record.byte_offset <= record.end_offset <= len(data)
        position, end = record.position + 1, record.end_offset
        assert read(reader, data, limit, (position, end)) == whole[count:]
        if isinstance(record, Rejection):
            assert "\n" not in record.reason
            assert len(record.head) <= 200
        else:
            assert isinstance(record, Document)
            assert record.key


@pytest.mark.slow
@given(data=any_bytes, limit=limits)
def test_readers_of_streams_take_any_bytes_and_go_on_anywhere(
    data: bytes, limit: int | None
) -> None:
    for reader in READERS:
        check(reader, data, limit)


@given(data=tables, limit=limits)
@example(data=b'id,text\n1,"a\n2,b\n"\n3,c', limit=None)
@example(data=b'id,text\n"\n"\n"\n"', limit=1)
def test_rows_of_any_bytes_are_read_or_rejected(data: bytes, limit: int | None) -> None:
    check(reader_named("csv"), data, limit)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20)
rows = st.lists(st.tuples(texts.filter(bool), texts), max_size=8)


@given(rows=rows, delimiter=st.sampled_from(",;\t|"), ends=st.sampled_from(["\n", "\r\n"]))
def test_rows_come_back_as_the_library_wrote_them(
    rows: list[tuple[str, str]], delimiter: str, ends: str
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ends)
    writer.writerows([("id", "text"), *rows])
    found = read(reader_named("csv"), out.getvalue().encode(), None, (0, 0))
    assert [(d.key, d.text) for d in found if isinstance(d, Document)] == rows
    assert len(found) == len(rows)


@given(rows=rows)
def test_objects_come_back_as_they_were_written(rows: list[tuple[str, str]]) -> None:
    data = "".join(json.dumps({"id": k, "text": t, "more": [t, {k: None}]}) + "\n" for k, t in rows)
    found = read(reader_named("jsonl"), data.encode(), None, (0, 0))
    assert [(d.key, d.text) for d in found if isinstance(d, Document)] == rows
    assert all(d.metadata["more"][0] == d.text for d in found if isinstance(d, Document))


LINES = b"".join(b'{"id": %d, "text": "text %d"}\n' % (n, n) for n in range(30))
FILES = {"a.jsonl": LINES, "b.txt": b"a text", "c.csv": b"id,text\n1,x\n" * 20}
WHOLE: dict[str, bytes] = {
    "a.zip": zipped(FILES),
    "a.tar": tarred(FILES),
    "a.tar.gz": gzip.compress(tarred(FILES)),
    "a.jsonl.gz": gzip.compress(LINES),
    "a.jsonl.bz2": bz2.compress(LINES),
    "a.jsonl.xz": lzma.compress(LINES, preset=0),
    "a.jsonl.zst": zstd.compress(LINES),
}


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file of which some bytes are others, or that is cut."""
    name = draw(st.sampled_from(list(WHOLE)))
    data = bytearray(WHOLE[name])
    for place, value in draw(
        st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=4)
    ):
        data[place] = value
    return name, bytes(data[: draw(st.integers(0, len(data)))])


def read_whole(name: str, data: bytes) -> list[Record]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        records: list[Record] = []
        try:
            records.extend(FileSource(str(path), ReadOptions()).records())
        except UnreadableSource as error:
            records.append(Rejection(str(path), 0, 0, 0, error.reason))
        return records


@given(file=damaged())
def test_damaged_files_are_read_as_far_as_they_go(file: tuple[str, bytes]) -> None:
    for record in read_whole(*file):
        assert not isinstance(record, Rejection) or "\n" not in record.reason


@pytest.mark.parquet
@given(data=st.data())
def test_damaged_tables_are_read_as_far_as_they_go(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["parquet", "arrow"]))
    whole = bytearray(_table(kind))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(4, len(whole) - 1), st.integers(0, 255)), max_size=3)
    ):
        whole[place] = value
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    reader: SourceReader = reader_named("parquet") if kind == "parquet" else reader_named("arrow")
    request = ReadRequest("name", options=ReadOptions(), head=cut)
    for record in reader.read(io.BufferedReader(io.BytesIO(cut)), request):
        assert not isinstance(record, Rejection) or "\n" not in record.reason


def _table(kind: str) -> bytes:
    pa: Any = pytest.importorskip("pyarrow", reason="needs simstore[parquet]")
    from pyarrow import parquet

    table = pa.table({"id": list(range(20)), "text": [f"text {n}" for n in range(20)]})
    out = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, out, row_group_size=7)
    else:
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    return out.getvalue()
