"""Readers in a process of their own: its end costs the rest of one file, and is told."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path

import pytest

from simstore import Store
from simstore.errors import MissingExtra
from simstore.model import Document, Ignored, Rejection
from simstore.sources import registry
from simstore.sources.isolated import READERS, packed, unpacked
from simstore.sources.reader import ReadRequest

from .ending_readers import EndingReader, QuickEndingReader
from .reading import check_goes_on_anywhere, documents, read_stream, reasons


def processes(data: bytes) -> list[int]:
    """Return the process that read each line."""
    return [
        one.metadata["process"]
        for one in read_stream(EndingReader(), data)
        if isinstance(one, Document)
    ]


def test_records_are_those_that_the_reader_makes_in_this_process() -> None:
    data = "one\nthe second, 第二\nthree\n".encode()
    found = check_goes_on_anywhere(EndingReader(), data)
    assert documents(found) == [
        ("name:0", "one"), ("name:1", "the second, 第二"), ("name:2", "three"),
    ]  # fmt: skip


def test_one_process_reads_one_file_after_the_other() -> None:
    first, again, another = *processes(b"a\nb\n"), *processes(b"c\n")
    assert first == again == another != os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"signal {signal.SIGSEGV}", "the process that reads it ended: segmentation fault"),
        (f"signal {signal.SIGABRT}", "the process that reads it ended: aborted"),
        (f"signal {signal.SIGKILL}", "reading it takes more time or memory than it may have"),
        ("memory", "reading it takes more memory than it may have"),
        ("work", "reading it takes more than 1 s of processor time"),
        ("raise", "the file is damaged: 'no such part'"),
    ],
)
def test_end_of_the_process_is_one_rejection_after_what_came_before(line: str, reason: str) -> None:
    found = read_stream(QuickEndingReader(), f"a\nb\n{line}\nc\n".encode())
    assert documents(found) == [("name:0", "a"), ("name:1", "b")]
    assert found[2:] == [Rejection("name", 2, 4, 4, reason)]
    assert documents(read_stream(QuickEndingReader(), b"next\n")) == [("name:0", "next")]


@pytest.mark.slow
def test_processor_time_is_counted_from_one_answer_to_the_next() -> None:
    assert documents(read_stream(QuickEndingReader(), b"a\nslow\n")) == [
        ("name:0", "a"), ("name:1", "slow"),
    ]  # fmt: skip


def test_what_a_library_writes_is_no_answer() -> None:
    assert len(processes(b"print\nb\n")) == 2


@pytest.mark.slow
def test_file_that_is_left_in_the_middle_says_nothing_of_the_next(tmp_path: Path) -> None:
    data = b"line\n" * 5_000
    path = tmp_path / "lines"
    path.write_bytes(data)
    with path.open("rb") as stream:
        found = EndingReader().read(stream, ReadRequest("name"))
        first = next(found)
        found.close()  # type: ignore[attr-defined]
    assert isinstance(first, Document)
    assert documents(read_stream(EndingReader(), b"next\n")) == [("name:0", "next")]


def test_two_files_are_read_in_turn() -> None:
    streams = [io.BufferedReader(io.BytesIO(text * 3)) for text in (b"a\n", b"b\n")]
    both = zip(*(EndingReader().read(s, ReadRequest("name")) for s in streams), strict=True)
    texts = [(one.text, two.text) for one, two in both]  # type: ignore[union-attr]
    assert texts == [("a", "b")] * 3


def test_forked_process_starts_one_of_its_own() -> None:
    (ours,) = processes(b"a\n")
    reading, writing = os.pipe()
    number = os.fork()
    if not number:
        os.write(writing, str(processes(b"a\n")[0]).encode())
        READERS.end()
        os._exit(0)
    os.waitpid(number, 0)
    theirs = int(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    assert theirs != ours
    assert processes(b"b\n") == [ours]


def test_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EndingReader, "package", "no_such_package")
    with pytest.raises(MissingExtra, match="reading lines"):
        read_stream(EndingReader(), b"a\n")


def test_frame_holds_records_as_they_are() -> None:
    records = [
        Document(
            "k\udcff",
            "text \ud800 第",
            title="t",
            collection="c",
            metadata={"a": [1, None, "\udcfe"]},
            position=1,
            byte_offset=2,
            end_offset=3,
            seen_at=4,
            published_at=5,
            links=("x", "y"),
            seen_since=6,
        ),
        Rejection("s\udcff", 1, 2, 3, "why", b"\x00\xff"),
        Ignored("s", 1, 2, 3, "why", "k", 7, is_source=True),
        Document("k", ""),
    ]
    frame = packed("records", records, bytes_read=5)
    assert unpacked(frame) == ({"kind": "records", "bytes_read": 5}, records)


def test_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    READERS.end()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (reason,) = reasons(read_stream(EndingReader(), b"a\n"))
    assert reason == "no process to read it can be started (No such file or directory)"


@pytest.mark.slow
def test_ingest_keeps_what_came_before_and_goes_on_with_the_next_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "added_readers", lambda: (EndingReader(),))
    ending, following = tmp_path / "a.ending", tmp_path / "b.ending"
    ending.write_text(f"river\nsignal {signal.SIGSEGV}\nstone\n")
    following.write_text("fern\n")
    with Store.create(tmp_path / "store.db") as store:
        summary = store.ingest([str(ending), str(following)])
        assert (summary.added, summary.rejected) == (2, 1)
        (kept,) = store.rejects.list()
        assert kept.rejection.reason == "the process that reads it ended: segmentation fault"
        assert (kept.rejection.source, kept.rejection.position) == (str(ending), 1)
        again = store.ingest([str(ending), str(following)])
        assert (again.updated, again.rejected) == (2, 1)
