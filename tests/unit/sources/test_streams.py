"""Compressed files, whole and damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import sys
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from simstore.model import Rejection, SourceState
from simstore.sources import unpacking
from simstore.sources.files import FileSource, open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.streams import ByteStream
from simstore.sources.unpacking import zstd

from .reading import documents, read_file, reasons, rejections

COUNT = 1_200
source = random.Random(3)
PAGES = [(f"page-{n}", f"{source.getrandbits(4_000):x}\n") for n in range(COUNT)]
ARTICLES = b"".join(f"{key}\n{text}\f".encode() for key, text in PAGES)
JSONL = b"".join(json.dumps({"key": k, "text": t}).encode() + b"\n" for k, t in PAGES)
COMPRESSORS = {
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
}
# Random text packs to about half its size; zstd needs 128 kB of it before it gives any.
CUTS = [0.3, 0.75, 0.999]
# bzip2 gives nothing before it has a block of 900 kB.
CUT_FILES = [
    (suffix, cut) for suffix in COMPRESSORS for cut in CUTS if suffix != ".bz2" or cut > 0.9
]


def check_damaged(path: Path, data: bytes, first: bytes) -> None:
    """What can be decompressed is read; what follows is one rejection at its place."""
    records = read_file(path)
    read = documents(records)
    assert 0 < len(read) < COUNT
    assert read == PAGES[: len(read)]
    (rejected,) = [one for one in records if isinstance(one, Rejection)]
    assert records[-1] is rejected
    assert rejected.position == len(read)
    assert data[rejected.byte_offset :].startswith(first)
    assert data[rejected.byte_offset :].startswith(rejected.head)
    assert "compressed data" in rejected.reason


def test_records_before_the_end_of_a_truncated_file_are_read(tmp_path: Path) -> None:
    for name, whole, first in (("article.txt", ARTICLES, b"page-"), ("a.jsonl", JSONL, b"{")):
        for suffix, cut in CUT_FILES:
            path = tmp_path / f"{name}{suffix}"
            packed = COMPRESSORS[suffix](whole)
            path.write_bytes(packed[: int(len(packed) * cut)])
            check_damaged(path, whole, first)


def test_truncated_file_without_a_whole_page_is_one_rejection(tmp_path: Path) -> None:
    for suffix in COMPRESSORS:
        for name in ("article.txt", "a.jsonl", "plain.txt"):
            path = tmp_path / (name + suffix)
            path.write_bytes(COMPRESSORS[suffix](b"some text without an end" * 9)[:-6])
            records = read_file(path)
            assert rejections(records) == [(0, 0)], suffix
            assert len(records) == 1, suffix


@pytest.mark.slow
def test_stream_is_read_on_from_an_offset(tmp_path: Path) -> None:
    for suffix in ("", *COMPRESSORS):
        path = tmp_path / "data"
        path.write_bytes(COMPRESSORS[suffix](ARTICLES) if suffix else ARTICLES)
        stream = ByteStream(str(path))
        for offset in (0, 1, 5_000, len(ARTICLES) - 1, len(ARTICLES)):
            with stream.open(offset) as opened:
                assert opened.read() == ARTICLES[offset:], suffix
        assert stream.total_bytes == path.stat().st_size, suffix
        assert stream.bytes_read == path.stat().st_size, suffix


def test_file_shorter_than_a_magic_number_is_plain(tmp_path: Path) -> None:
    for data in (b"", b"\x1f", b"\x1f\x8b"[:1], b"\x28\xb5\x2f", b"BZh is text", b"\xfd7zXZ"):
        path = tmp_path / "short.txt"
        path.write_bytes(data)
        with ByteStream(str(path)).open() as opened:
            assert opened.read() == data, data


def test_state_tells_contents_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    def state_now(name: str = str(path), reader: str = "articles") -> SourceState:
        return FileSource(name, ReadOptions(reader)).state()

    path.write_bytes(b"one")
    state = state_now()
    assert state.is_same_content(state_now())
    assert not state.is_same_content(state_now(reader="text"))
    path.write_bytes(b"two")
    assert not state.is_same_content(state_now())
    standard_input = state_now("-")
    assert not standard_input.is_same_content(standard_input)


@pytest.mark.slow
def test_what_expands_beyond_the_limit_is_rejected_from_there_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for stem in ("article.txt", "a.jsonl", "a.txt"):
        for suffix in COMPRESSORS:
            monkeypatch.setattr(unpacking, "LEAST_EXPANDED_BYTES", 2_000_000)
            head = (
                b"one\nriver\n\f"
                if stem == "article.txt"
                else b'{"id": "one", "text": "river\\n"}\n'
            )
            path = tmp_path / (stem + suffix)
            path.write_bytes(COMPRESSORS[suffix](head + b" " * 8_000_000))
            records = read_file(path, max_document_bytes=None, max_expansion=10)
            expected = [] if stem == "a.txt" else [("one", "river\n")]
            assert documents(records) == expected, (stem, suffix)
            assert "expands to more than 10 times its size" in reasons(records)[0], (stem, suffix)
            assert len(records) == len(expected) + 1, (stem, suffix)
            # A larger limit lets it through, and small files are not looked at.
            assert not reasons(read_file(path, max_document_bytes=None, max_expansion=None))[1:], (
                stem,
                suffix,
            )
            path.write_bytes(COMPRESSORS[suffix](b"x" * 1_500_000))
            assert not reasons(read_file(path, max_expansion=1, format="text")), (stem, suffix)


def test_expansion_is_counted_over_all_members_of_an_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unpacking, "LEAST_EXPANDED_BYTES", 4_000_000)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.txt", b"x" * 1_000_000)
    records = read_file(path, max_expansion=10)
    assert len(documents(records)) == 4
    assert len(reasons(records)) == 6


def test_pipe_that_gives_a_byte_at_a_time_is_decompressed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self._data = data
            self._place = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            view = memoryview(buffer)  # type: ignore[arg-type]
            data = self._data[self._place : self._place + 1]
            self._place += 1
            view[: len(data)] = data
            return len(data)

    for compress in COMPRESSORS.values():
        piped = Slow(compress(b'{"id": 1, "text": "x"}\n'))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(piped)))
        (source,), _ = open_sources(["-"], ReadOptions())
        assert documents(list(source.records())) == [("1", "x")]


def test_uncompressed_file_is_not_read_up_to_the_place(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x" * (8 << 20))
    stream = ByteStream(str(path))
    with stream.open(7 << 20) as opened:
        assert opened.read() == b"x" * (1 << 20)
        assert stream.bytes_read == 8 << 20
        assert opened.seekable()


def test_link_that_leads_nowhere_has_no_size(tmp_path: Path) -> None:
    for name, target in (("loop", "loop"), ("gone", "nothing")):
        (tmp_path / name).symlink_to(target)
        assert FileSource(str(tmp_path / name), ReadOptions()).total_bytes is None, name
