from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import pytest

from simstore import KnownFilter
from simstore.errors import OutputExists, SourceNotFound, UnreadableSource

KEYS = ["http://a/", "http://b/?q=1", "ключ", "k\udcff", ""]
TEXTS = ["one text", "two\ntexts", "三篇文章", "\udcfe"]


def sample() -> KnownFilter:
    known = KnownFilter.create(50)
    known.add_keys(KEYS)
    for text in TEXTS:
        known.add_text(text)
    return known


class PlainReader:
    """Reads a filter as its format is described, and by nothing else."""

    def __init__(self, data: bytes) -> None:
        assert hashlib.blake2b(data[:-16], digest_size=16).digest() == data[-16:]
        assert data[:8] == b"SIMKNOWN"

        def number(start: int, size: int) -> int:
            return int.from_bytes(data[start : start + size], "little")

        assert number(8, 2) == 1
        count = number(10, 2)
        self.parts = {}
        start = 16 + 24 * count
        for head in range(16, start, 24):
            kind, hashes, bits = data[head], data[head + 1], number(head + 8, 8)
            self.parts[kind] = (hashes, bits, data[start : start + bits // 8])
            start += bits // 8
        assert start + 16 == len(data)

    def knows(self, kind: int, member: bytes) -> bool:
        hashes, bits, content = self.parts[kind]
        hashed = hashlib.blake2b(member, digest_size=16).digest()
        a, b = (int.from_bytes(hashed[at : at + 8], "little") for at in (0, 8))
        places = [(a + i * b) % 2**64 % bits for i in range(hashes)]
        return all(content[place // 8] >> place % 8 & 1 for place in places)


def raw(member: str) -> bytes:
    return member.encode("utf-8", "surrogateescape")


def test_the_format_is_what_its_description_says(tmp_path: Path) -> None:
    path = tmp_path / "known.bin"
    known = KnownFilter.create(3_000, false_positive_rate=0.01)
    known.add_keys(f"http://site/{number}" for number in range(3_000))
    known.add_text("a text")
    known.save(path)
    reader = PlainReader(path.read_bytes())
    assert all(reader.knows(1, f"http://site/{number}".encode()) for number in range(0, 3_000, 7))
    assert reader.knows(2, b"a text")
    others = [f"http://other/{number}" for number in range(400)]
    assert [reader.knows(1, raw(key)) for key in others] == known.knows_keys(others).tolist()


def test_few_strangers_are_taken_for_known() -> None:
    for rate, hashes in ((0.1, 3), (0.001, 10)):
        known = KnownFilter.create(5_000, false_positive_rate=rate, of=["keys"])
        known.add_keys(f"http://site/{number}" for number in range(5_000))
        # log2(1 / rate), rounded.
        assert known.to_bytes()[17] == hashes
        taken = known.knows_keys(f"http://other/{number}" for number in range(20_000)).sum()
        assert 0 < taken < 2 * rate * 20_000


def test_every_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "known.bin"
    sample().save(path)
    data = path.read_bytes()
    for place in range(0, len(data), 5):
        path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
        with pytest.raises(UnreadableSource):
            KnownFilter.load(path)
    for size in (0, 4, 8, 20, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(UnreadableSource):
            KnownFilter.load(path)


def test_a_filter_of_another_kind_is_refused(tmp_path: Path) -> None:
    for at, value, reason in [
        (8, 2, "of version 1"),
        (16, 9, "does not know"),
        (17, 0, "does not know"),
        (17, 65, "does not know"),
        (24, 99, "does not know"),
        (25, 9, "damaged"),
    ]:
        path = tmp_path / "known.bin"
        sample().save(path)
        data = bytearray(path.read_bytes())
        data[at] = value
        data[-16:] = hashlib.blake2b(data[:-16], digest_size=16).digest()
        path.write_bytes(data)
        with pytest.raises(UnreadableSource, match=reason):
            KnownFilter.load(path)


def test_files_that_are_not_there_or_no_filters(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        KnownFilter.load(tmp_path / "none")
    with pytest.raises(UnreadableSource):
        KnownFilter.load(tmp_path)
    (tmp_path / "text").write_text("no filter")
    with pytest.raises(UnreadableSource, match=r"filters\.known\(\)"):
        KnownFilter.load(tmp_path / "text")
    with pytest.raises(OutputExists):
        sample().save(tmp_path / "text", replace=False)
    assert (tmp_path / "text").read_text() == "no filter"


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_is_no_file_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "filter"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(UnreadableSource, match="it is not a file"):
        KnownFilter.load(path)


def test_no_more_is_read_than_beginning_and_size_agree_on(tmp_path: Path) -> None:
    path = tmp_path / "filter"
    sample().save(path)
    data = path.read_bytes()
    # Files with holes, whose content would fill the memory.
    for beginning in (b"\0", data, data[:16]):
        with path.open("wb") as file:
            file.write(beginning)
            file.truncate(1 << 42)
        with pytest.raises(UnreadableSource):
            KnownFilter.load(path)
    # A beginning that promises more than there is.
    large = struct.pack("<BBHIQQ", 1, 10, 0, 0, 1 << 38, 0)
    path.write_bytes(b"SIMKNOWN" + struct.pack("<HHI", 1, 1, 0) + large)
    with pytest.raises(UnreadableSource, match=r"damaged|contradicts"):
        KnownFilter.load(path)
