"""Damage at each byte: a source ends in documents or in rejections, never in neither."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from simstore.errors import UnreadableSource
from simstore.model import Document, Ignored, Rejection
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.unpacking import zstd

CONTENTS = {
    "a.jsonl": b'{"id": "a", "text": "river"}\n',
    "a.csv": b"id,text\na,river\n",
    "a.tsv": b"id\ttext\na\triver\n",
    "a.txt": b"river and stone\n",
    "article.txt": b"a\nriver\n\f",
    "a.html": b"<html><body><p>river and stone</p></body></html>\n",
    "a.md": b"# river\n\nstone\n",
}
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def made_docx() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as package:
        package.writestr("[Content_Types].xml", "")
        name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        package.writestr(
            "word/document.xml", f'<w:p xmlns:w="{name}"><w:r><w:t>river</w:t></w:r></w:p>'
        )
    return held.getvalue()


def made_pdf() -> bytes:
    held = io.BytesIO()
    canvas = Canvas(held, pageCompression=0, invariant=1)
    canvas.drawString(72, 720, "river")
    canvas.save()
    return held.getvalue()


def made_table(kind: str) -> bytes:
    pyarrow: Any = pytest.importorskip("pyarrow", reason="needs simstore[parquet]")
    from pyarrow import parquet

    table = pyarrow.table({"id": ["a", "b"], "text": ["river", "stone"]})
    held = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, held, row_group_size=1)
    else:
        new = pyarrow.ipc.new_file if kind == "arrow" else pyarrow.ipc.new_stream
        with new(held, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    return held.getvalue()


OF_PROCESSES: dict[str, Callable[[], bytes]] = {
    "a.arrow": lambda: made_table("arrow"),
    "stream.arrows": lambda: made_table("stream"),
    "a.parquet": lambda: made_table("parquet"),
    "a.docx": made_docx,
    "a.pdf": made_pdf,
}


def in_zip(name: str, data: bytes, method: int) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(name), data, method)
    return held.getvalue()


def in_tar(name: str, data: bytes) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def damaged(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the data cut before each byte, and with each byte changed."""
    for place in range(1, len(data)):
        yield place, data[:place]
    for place in range(len(data)):
        yield place, data[:place] + bytes((data[place] ^ 0xFF,)) + data[place + 1 :]


def told(path: Path) -> list[object]:
    source = FileSource(str(path), ReadOptions())
    members = source.members()
    if members is None:
        return list(source.records())
    return [
        record
        for member in members
        for record in (
            [member.source]
            if isinstance(member.source, Document | Rejection | Ignored)
            else member.source.records()
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_compressed_file_with_damage_anywhere_is_never_silent(
    tmp_path: Path, name: str, compression: str
) -> None:
    path = tmp_path / f"{name}.{compression}"
    for place, data in damaged(COMPRESSORS[compression](CONTENTS[name])):
        path.write_bytes(data)
        assert told(path), (place, data)


@pytest.mark.slow
def test_second_stream_with_damage_anywhere_is_whole_or_rejected(tmp_path: Path) -> None:
    for compression in COMPRESSORS:
        compress = COMPRESSORS[compression]
        one, other = (b'{"id": "%d", "text": "river"}\n' % number for number in range(2))
        path = tmp_path / f"a.jsonl.{compression}"
        for place, data in damaged(compress(other)):
            path.write_bytes(compress(one) + data)
            found = told(path)
            # Only gzip and zstd have bytes without effect; a checksum is not always there.
            texts = [(one.key, one.text) for one in found if isinstance(one, Document)]
            is_rejected = any(isinstance(one, Rejection) for one in found)
            assert is_rejected or len(texts) == 2, (place, data, found)


def test_rubbish_behind_what_is_compressed_is_rejected(tmp_path: Path) -> None:
    for rubbish in (b"\n", b"rubbish", b"BZh9rubbish", b"\xfd7zXZ\x00", b"\0\0x"):
        for compression in COMPRESSORS:
            path = tmp_path / f"a.jsonl.{compression}"
            path.write_bytes(COMPRESSORS[compression](CONTENTS["a.jsonl"]) + rubbish)
            document, rejection = told(path)
            assert isinstance(document, Document), (rubbish, compression)
            assert isinstance(rejection, Rejection), (rubbish, compression)
            assert "compressed data" in rejection.reason, (rubbish, compression)


def test_zeros_between_streams_and_behind_them_are_no_damage(tmp_path: Path) -> None:
    for compression in ("gz", "bz2", "xz"):
        packed = COMPRESSORS[compression](CONTENTS["a.jsonl"])
        path = tmp_path / f"a.jsonl.{compression}"
        path.write_bytes(packed + bytes(4) + packed + bytes(100_000))
        assert [type(one) for one in told(path)] == [Document, Document], compression


def test_file_cut_anywhere_is_never_silent(tmp_path: Path) -> None:
    for name in CONTENTS:
        path = tmp_path / name
        for place, data in damaged(CONTENTS[name]):
            path.write_bytes(data)
            assert told(path), (place, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PROCESSES)
def test_damage_anywhere_is_read_or_rejected_where_native_code_reads(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    # Each byte would take minutes; campaigns and the fuzzer change the others.
    for place, data in islice(damaged(OF_PROCESSES[name]()), 0, None, 11):
        path.write_bytes(data)
        assert told(path), (place, data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "container"),
    [("a.csv", "zip"), ("a.jsonl", "deflated"), ("a.csv.bz2", "zip"), ("a.csv.gz", "tar")],
)
def test_archive_with_damage_anywhere_is_never_silent(
    tmp_path: Path, name: str, container: str
) -> None:
    plain, _, compression = name.partition(".csv.")
    member = (
        CONTENTS[name] if name in CONTENTS else COMPRESSORS[compression](CONTENTS[f"{plain}.csv"])
    )
    path = tmp_path / f"all.{'tar' if container == 'tar' else 'zip'}"
    if container == "tar":
        whole = in_tar(name, member)
    else:
        method = zipfile.ZIP_DEFLATED if container == "deflated" else zipfile.ZIP_STORED
        whole = in_zip(name, member, method)
    # Of a tar archive without what fills it up.
    for place, data in islice(damaged(whole[:2048]), 0, None, 3):
        path.write_bytes(data)
        try:
            found = told(path)
        except UnreadableSource as error:
            found = [error.reason]
        assert found, (place, data)
