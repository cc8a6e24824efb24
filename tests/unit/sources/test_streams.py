"""Compressed files, whole and damaged."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from simstore.model import Rejection, SourceState
from simstore.sources.files import FileSource
from simstore.sources.reader import ReadOptions
from simstore.sources.streams import ByteStream, zstd

from .reading import documents, read_file, reasons, rejections

COUNT = 1_200
source = random.Random(3)
PAGES = [(f"page {n}", f"{source.getrandbits(4_000):x}\n") for n in range(COUNT)]
ARTICLES = b"".join(f"{key}\n{text}\f".encode() for key, text in PAGES)
JSONL = b"".join(json.dumps({"key": k, "text": t}).encode() + b"\n" for k, t in PAGES)
COMPRESSORS = {".gz": gzip.compress, ".zst": zstd.compress}
# Random text packs to about half its size; zstd needs 128 kB of it before it gives any.
CUTS = [0.3, 0.75, 0.999]


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize(("stem", "data"), [("article.txt", ARTICLES), ("a.jsonl", JSONL)])
def test_compressed_file_is_read_like_a_plain_one(
    tmp_path: Path, stem: str, data: bytes, suffix: str
) -> None:
    path = tmp_path / (stem + suffix)
    path.write_bytes(COMPRESSORS[suffix](data))
    plain = tmp_path / stem
    plain.write_bytes(data)
    assert read_file(path) == read_file(plain)


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compression_is_seen_by_the_bytes_not_by_the_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "article.txt"
    path.write_bytes(COMPRESSORS[suffix](ARTICLES))
    assert documents(read_file(path)) == PAGES
    path = tmp_path / f"article.txt{suffix}"
    path.write_bytes(ARTICLES)
    assert documents(read_file(path)) == PAGES


def test_several_members_are_one_file(tmp_path: Path) -> None:
    half = ARTICLES.index(b"page 700\n")
    for suffix, compress in COMPRESSORS.items():
        path = tmp_path / f"article.txt{suffix}"
        path.write_bytes(compress(ARTICLES[:half]) + compress(ARTICLES[half:]))
        assert documents(read_file(path)) == PAGES


def check_damaged(path: Path, data: bytes, is_page: Callable[[bytes], bool]) -> None:
    """What can be decompressed is read; what follows is one rejection at its place."""
    records = read_file(path)
    read = documents(records)
    assert 0 < len(read) < COUNT
    assert read == PAGES[: len(read)]
    (rejected,) = [one for one in records if isinstance(one, Rejection)]
    assert records[-1] is rejected
    assert rejected.position == len(read)
    assert is_page(data[rejected.byte_offset :])
    assert data[rejected.byte_offset :].startswith(rejected.head)
    assert "compressed data" in rejected.reason


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_pages_before_the_end_of_a_truncated_file_are_read(
    tmp_path: Path, suffix: str, cut: float
) -> None:
    path = tmp_path / f"article.txt{suffix}"
    packed = COMPRESSORS[suffix](ARTICLES)
    path.write_bytes(packed[: int(len(packed) * cut)])
    check_damaged(path, ARTICLES, lambda rest: rest.startswith(b"page "))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_lines_before_the_end_of_a_truncated_file_are_read(
    tmp_path: Path, suffix: str, cut: float
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    packed = COMPRESSORS[suffix](JSONL)
    path.write_bytes(packed[: int(len(packed) * cut)])
    check_damaged(path, JSONL, lambda rest: rest.startswith(b"{"))


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_name_that_does_not_tell_the_format_changes_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"some.txt{suffix}"
    packed = COMPRESSORS[suffix](ARTICLES)
    path.write_bytes(packed[: len(packed) // 2])
    check_damaged(path, ARTICLES, lambda rest: rest.startswith(b"page "))


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_truncated_file_without_a_whole_page_is_one_rejection(tmp_path: Path, suffix: str) -> None:
    for name in ("article.txt", "a.jsonl", "plain.txt"):
        path = tmp_path / (name + suffix)
        path.write_bytes(COMPRESSORS[suffix](b"some text without an end" * 9)[:-6])
        records = read_file(path)
        assert rejections(records) == [(0, 0)]
        assert len(records) == 1


def test_gzip_file_with_a_wrong_checksum_is_rejected_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = bytearray(gzip.compress(JSONL))
    packed[-8] ^= 0xFF
    path.write_bytes(packed)
    records = read_file(path)
    assert documents(records) == PAGES
    assert rejections(records) == [(COUNT, len(JSONL))]
    assert "damaged" in reasons(records)[0]


def test_gzip_file_with_rubbish_behind_it_is_read_and_the_rubbish_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(JSONL) + b"rubbish")
    records = read_file(path)
    assert documents(records) == PAGES
    assert rejections(records) == [(COUNT, len(JSONL))]


@pytest.mark.parametrize("suffix", ["", *COMPRESSORS])
def test_stream_is_read_on_from_an_offset(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(COMPRESSORS[suffix](ARTICLES) if suffix else ARTICLES)
    stream = ByteStream(str(path))
    for offset in (0, 1, 5_000, len(ARTICLES) - 1, len(ARTICLES)):
        with stream.open(offset) as opened:
            assert opened.read() == ARTICLES[offset:]
    assert stream.total_bytes == path.stat().st_size
    assert stream.bytes_read == path.stat().st_size


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\x1f\x8b"[:1], b"\x28\xb5\x2f"])
def test_file_shorter_than_a_magic_number_is_plain(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "short.txt"
    path.write_bytes(data)
    with ByteStream(str(path)).open() as opened:
        assert opened.read() == data


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
