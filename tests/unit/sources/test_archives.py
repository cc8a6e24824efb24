"""Zip and tar archives."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from archives import tarred, zipped

from simstore.errors import UnreadableSource
from simstore.model import Document, Ignored, Rejection
from simstore.sources.files import FileSource, open_sources
from simstore.sources.reader import ReadOptions
from simstore.sources.source import Record, Source
from simstore.sources.unpacking import zstd

from .reading import documents, read_file, reasons, rejections

FILES = {
    "texts/a.txt": b"a text",
    "texts/pages.txt": b"one\nriver\n\ftwo\nstone\n\f",
    "lines.jsonl": b'{"id": 1, "text": "x"}\n{"id": 2}\n{"id": 3, "text": "z"}\n',
    "lines.jsonl.gz": gzip.compress(b'{"id": 4, "text": "packed"}\n'),
    "table.csv": b"id,text\n5,row\n",
}


PACKERS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "a.zip": zipped,
    "a.tar": tarred,
    "a.tar.gz": lambda files: gzip.compress(tarred(files)),
    "a.tgz": lambda files: gzip.compress(tarred(files)),
    "a.tar.bz2": lambda files: bz2.compress(tarred(files)),
    "a.tar.xz": lambda files: lzma.compress(tarred(files)),
    "a.tar.zst": lambda files: zstd.compress(tarred(files)),
    "a.zip.gz": lambda files: gzip.compress(zipped(files)),
    "old.tar": lambda files: tarred(files, tarfile.USTAR_FORMAT),
    "gnu": lambda files: tarred(files, tarfile.GNU_FORMAT),
}


def pack(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    path = folder / name
    path.write_bytes(PACKERS[name](files))
    return path


def test_members_are_read_by_their_own_readers(tmp_path: Path) -> None:
    for name in PACKERS:
        path = pack(tmp_path, name, FILES)
        records = read_file(path)
        assert documents(records) == [
            (f"{path}!/texts/a.txt", "a text"),
            ("one", "river\n"),
            ("two", "stone\n"),
            ("1", "x"),
            ("3", "z"),
            ("4", "packed"),
            ("5", "row"),
        ], name
        (rejected,) = [one for one in records if isinstance(one, Rejection)]
        assert (rejected.source, rejected.position) == (f"{path}!/lines.jsonl", 1), name


def test_archive_on_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("a.zip", "a.tar.gz"):

        class Piped:
            buffer = io.BytesIO(PACKERS[name](FILES))

        monkeypatch.setattr(sys, "stdin", Piped)
        (source,), _ = open_sources(["-"], ReadOptions())
        found = documents(list(source.records()))
        assert found[0] == ("-!/texts/a.txt", "a text"), name
        assert len(found) == 7, name


def sources_of(path: Path, position: int = 0, byte_offset: int = 0) -> list[tuple[int, int, str]]:
    members = FileSource(str(path), ReadOptions()).members(position, byte_offset)
    assert members is not None
    return [
        (one.number, one.byte_offset, one.source.name)
        for one in members
        if not isinstance(one.source, Record)
    ]


def records_of(path: Path, place: int, position: int = 0, byte_offset: int = 0) -> list[Any]:
    """Return the records of one member of an archive, from a position on."""
    members = FileSource(str(path), ReadOptions()).members()
    assert members is not None
    sources = (one.source for one in members if not isinstance(one.source, Record))
    source = next(islice(sources, place, None))
    return list(source.records(position, byte_offset))


def test_members_are_the_same_from_any_of_them_on(tmp_path: Path) -> None:
    for name in PACKERS:
        path = pack(tmp_path, name, FILES)
        whole = sources_of(path)
        assert len(whole) == len(FILES), name
        for place, (number, byte_offset, _) in enumerate(whole):
            assert sources_of(path, number, byte_offset) == whole[place:], name


def test_records_of_a_member_are_the_same_from_any_of_them_on(tmp_path: Path) -> None:
    for name in ("a.zip", "a.tar"):
        path = pack(tmp_path, name, FILES)
        for place, (_, _, member) in enumerate(sources_of(path)):
            whole = records_of(path, place)
            for count, record in enumerate(whole, start=1):
                after = (record.position or 0) + 1, record.end_offset or 0
                assert records_of(path, place, *after) == whole[count:], member


def test_name_that_leads_out_of_the_archive_is_rejected(tmp_path: Path) -> None:
    for member in ("../b.txt", "..\\b.txt", "a/../../b.txt", "/etc/b.txt", "C:\\b.txt"):
        for name in ("a.zip", "a.tar"):
            path = pack(tmp_path, name, {member: b"text", "c.txt": b"fine"})
            records = read_file(path)
            assert [one.text for one in records if isinstance(one, Document)] == ["fine"], (
                member,
                name,
            )
            assert reasons(records) == ["its name leads out of the archive"], (member, name)


def test_what_is_no_document_is_passed_over_and_told(tmp_path: Path) -> None:
    for name in ("a.zip", "a.tar"):
        files = {
            "b.png": b"\x89PNG",
            ".hidden.txt": b"no",
            "__MACOSX/._b.txt": b"no",
            "c.txt": b"c",
        }
        path = pack(tmp_path, name, files)
        records = read_file(path)
        assert len(documents(records)) == 1, name
        assert [one.source for one in records if isinstance(one, Ignored)] == [f"{path}!/b.png"], (
            name
        )
        # Who says that all are texts has a picture rejected, or kept as it is.
        assert rejections(read_file(path, format="text")) == [(0, 0)], name
        assert len(documents(read_file(path, format="text", encoding="keep"))) == 2, name


def test_links_in_a_tar_archive_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo(f"link{kind.decode()}.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    records = read_file(path)
    assert [type(one) for one in records] == [Ignored] * 3


def test_archive_in_an_archive_is_rejected(tmp_path: Path) -> None:
    for inner in ("a.zip", "a.tar.gz"):
        path = pack(tmp_path, "a.zip", {inner: PACKERS[inner](FILES), "b.txt": b"fine"})
        records = read_file(path)
        assert documents(records) == [(f"{path}!/b.txt", "fine")], inner
        assert "archive in an archive" in reasons(records)[0], inner


def encrypted(files: dict[str, bytes]) -> bytes:
    """Return a zip archive whose members say that they are encrypted."""
    data = bytearray(zipped(files))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + flags] |= 1
    return bytes(data)


def test_encrypted_member_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(encrypted({"a.txt": b"a", "b.txt": b"b"}))
    assert reasons(read_file(path)) == ["it is encrypted"] * 2


def test_member_whose_checksum_is_wrong_is_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.jsonl": FILES["lines.jsonl"], "b.txt": b"fine"}))
    crc = 14
    data[crc] ^= 0xFF
    data[data.find(b"PK\x01\x02") + crc + 2] ^= 0xFF
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    records = read_file(path)
    assert documents(records)[-1] == (f"{path}!/b.txt", "fine")
    assert "damaged" in reasons(records)[-1]
    assert not any("\n" in reason for reason in reasons(records))


def told(source: Source) -> bool:
    from simstore.errors import UnreadableSource

    try:
        records = list(source.records())
    except UnreadableSource:
        return True
    return bool(reasons(records))


def test_members_of_an_archive_with_other_content_are_other_sources(tmp_path: Path) -> None:
    def states() -> list[object]:
        found = FileSource(str(path), ReadOptions()).members()
        assert found is not None
        return [one.source.state() for one in found if not isinstance(one.source, Record)]

    path = pack(tmp_path, "a.zip", {"a.txt": b"a", "b.txt": b"b"})
    first, second = states()
    assert first != second
    assert states() == [first, second]
    pack(tmp_path, "a.zip", {"a.txt": b"a", "b.txt": b"c"})
    assert not {first, second} & set(states())


def test_members_are_not_held_while_an_archive_is_read(tmp_path: Path) -> None:
    for kind in ("tar", "zip"):
        path, count = tmp_path / f"a.{kind}", 200
        if kind == "tar":
            with tarfile.open(path, "w") as tar:
                for number in range(count):
                    info = tarfile.TarInfo(f"{number}.txt")
                    tar.addfile(info)
        else:
            with zipfile.ZipFile(path, "w") as package:
                for number in range(count):
                    package.writestr(f"{number}.txt", b"")
        most: Counter[str] = Counter()
        for number, _ in enumerate(FileSource(str(path), ReadOptions()).records(), start=1):
            if number in (count // 2, count):
                gc.collect()
                alive = Counter(type(one).__name__ for one in gc.get_objects())
                # The directory of a zip archive, of ZipInfo, is read as a whole; tar has none.
                most |= Counter({name: alive[name] for name in ("MemberSource", "_StrictTarInfo")})
        assert number == count, kind
        assert max(most.values()) <= 4, kind


def test_member_without_a_name_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"nothing")
        archive.writestr("b.txt", b"river")
    records = read_file(path)
    assert reasons(records) == ["it has no name"]
    assert documents(records) == [(f"{path}!/b.txt", "river")]


def test_checksum_of_a_packed_tar_archive_is_looked_at_behind_its_last_block(
    tmp_path: Path,
) -> None:
    # As long as so many blocks that the archive is read by.
    whole = tarred({"a.txt": b"a text"}).ljust(5 << 14, b"\0")
    packed = bytearray(gzip.compress(whole))
    packed[-8] ^= 0xFF
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed)
    source = FileSource(str(path), ReadOptions())
    members = source.members()
    assert members is not None
    member = next(members).source
    assert not isinstance(member, Record)
    assert documents(list(member.records())) == [(f"{path}!/a.txt", "a text")]
    with pytest.raises(UnreadableSource, match="compressed data is damaged"):
        next(members)


def test_members_before_the_damage_of_a_packed_tar_archive_are_read(tmp_path: Path) -> None:
    whole = tarred({"a.txt": b"a text", "b.txt": b"another text"})
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(whole[: whole.index(b"another")])[:-8])
    source = FileSource(str(path), ReadOptions())
    members = source.members()
    assert members is not None
    first = next(members).source
    assert not isinstance(first, Record)
    assert documents(list(first.records())) == [(f"{path}!/a.txt", "a text")]


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.xz"])
def test_tar_archive_of_nothing_holds_no_file(tmp_path: Path, name: str) -> None:
    (told,) = read_file(pack(tmp_path, name, {}))
    assert isinstance(told, Ignored)
    assert told.reason == "no file in it"


def test_damage_behind_a_short_packed_tar_archive_is_told(tmp_path: Path) -> None:
    path = pack(tmp_path, "a.tar.gz", {})
    # The beginning of another stream, in the same block as the archive's end.
    path.write_bytes(path.read_bytes() + b"\x1f\x8b")
    (told,) = read_file(path)
    assert isinstance(told, Rejection)
    assert "compressed data breaks off" in told.reason


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        # The library asks for as many blocks behind the end, for hours.
        (1 << 50, "unexpected end of data"),
        (1 << 87, "a header says that 154742504910672534362390528 bytes follow"),
    ],
)
def test_tar_header_of_more_bytes_than_there_are_ends_the_archive(
    tmp_path: Path, size: int, reason: str
) -> None:
    whole = bytearray(tarred({"a.txt": b"a text", "b.txt": b"another text"}))
    header = whole.index(b"b.txt")
    whole[header + 124 : header + 136] = b"\x80" + size.to_bytes(11, "big")
    checked = whole[header : header + 148] + b" " * 8 + whole[header + 156 : header + 512]
    whole[header + 148 : header + 156] = b"%06o\0 " % sum(checked)
    path = tmp_path / "a.tar"
    path.write_bytes(whole)
    members = FileSource(str(path), ReadOptions()).members()
    assert members is not None
    assert next(members).number == 0
    with pytest.raises(UnreadableSource, match=reason):
        list(members)
