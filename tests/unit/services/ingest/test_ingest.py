"""Ingest of files at the edge of what can be read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from stores import SIMTOOL, create, ingest, raw

import simstore
from simstore.errors import InvalidParameter
from simstore.model import Ignored, IngestProgress, Rejection
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.sources.reader import ReadOptions
from simstore.store import Store

PAGES = b"one\nriver\n\ftwo\nstone\n\fthree\nlamp\n\f"


def counts(summary: object) -> tuple[int, ...]:
    names = ("added", "updated", "unchanged", "identical_texts", "rejected")
    return tuple(getattr(summary, name) for name in names)


def kept_rejections(store: Store) -> list[tuple[str, int, int, str]]:
    found = [one.rejection for one in store.rejects.list()]
    return [(one.source, one.position, one.byte_offset, one.reason) for one in found]


PROGRAM = """
import os, sys
from simstore.store import Store
# All modules are loaded while they can be read.
with Store.create(sys.argv[1] + ".first") as store:
    store.ingest(sys.argv[3:])
    store.rejects.list()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with Store.open(sys.argv[1]) as store:
    summary = store.ingest(sys.argv[2:])
    print(summary.added, summary.rejected)
    for one in store.rejects.list():
        print(one.rejection.source, one.rejection.position, one.rejection.reason, sep="|")
"""


@pytest.mark.sqlite("another user's process opens the file")
@pytest.mark.skipif(not hasattr(os, "setuid"), reason="no permissions to take away")
def test_file_without_permission_is_a_rejection_and_the_rest_is_ingested(tmp_path: Path) -> None:
    # Another user must be able to reach the folder and write the store.
    place = tmp_path / "open"
    place.mkdir()
    create(place).close()
    closed, readable = place / "article-1.txt", place / "article-2.txt"
    closed.write_bytes(PAGES)
    readable.write_bytes(PAGES)
    for folder in (place, *list(place.parents)[:4]):
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    place.chmod(0o777)
    (place / "s.db").chmod(0o666)
    closed.chmod(0)
    package = Path(simstore.__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place / "s.db"), str(closed), str(readable)],
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["3 1", f"{closed}|0|no permission to read it"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_one_name_that_are_rejected_are_counted_and_the_last_is_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for data in ("[]", "7", '{"id": "a", "text": "river"}'):
            archive.writestr("a.jsonl", data)
        archive.writestr("../a.txt", "out")
        archive.writestr("../a.txt", "out again")
    with create(tmp_path) as store:
        summary = store.ingest([str(path)])
        assert counts(summary) == (1, 0, 0, 0, 4)
        kept = [
            (source.rpartition("!/")[2], reason) for source, _, _, reason in kept_rejections(store)
        ]
        assert kept == [
            ("a.jsonl", "a JSON number, not an object"),
            ("../a.txt", "its name leads out of the archive"),
        ]
        assert store.maintenance.fsck() == []


def test_numbers_that_json_does_not_know_are_rejected_or_unchanged_the_second_time(
    tmp_path: Path,
) -> None:
    data = b'{"key": "a", "text": "t", "n": NaN}\n{"key": "b", "text": "t", "n": 1e999}\n'
    with create(tmp_path) as store:
        first = ingest(store, tmp_path / "a.jsonl", data)
        second = ingest(store, tmp_path / "a.jsonl")
        assert first.added + first.rejected == 2
        assert counts(second) == (0, 0, first.added, 0, first.rejected)


@pytest.mark.parametrize(
    ("name", "first", "more"),
    [
        ("a.csv", b"id,text\n", b"k,river\n"),
        ("a.jsonl", b"\n\n", b'{"id": "k", "text": "river"}\n'),
        ("a.jsonl", b"", b'{"id": "k", "text": "river"}\n'),
        ("article.txt", b"\n", b"k\nriver\n"),
    ],
)
def test_source_without_a_document_is_told_and_read_from_its_start_when_it_grows(
    tmp_path: Path, name: str, first: bytes, more: bytes
) -> None:
    with create(tmp_path) as store:
        told: list[Ignored] = []
        path = tmp_path / name
        path.write_bytes(first)
        store.ingest([str(path)], observer=Observer(on_pass_over=told.append))
        assert [one.is_source for one in told] == [True]
        path.write_bytes(first + more)
        assert store.ingest([str(path)]).added == 1
        assert "k" in store


def test_reading_from_the_start_refreshes_a_text_that_an_earlier_build_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"key": "x", "text": "first"}')
    with create(tmp_path) as store:
        store.ingest(path)
        store.add("x", "second")
    with raw(tmp_path) as connection:
        # An earlier build left the text of a longer file that had the same name.
        connection.execute("UPDATE document SET source_id = 1, position = 2")
    with Store.open(tmp_path / "s.db") as store:
        assert store.ingest(path).unchanged == 1
        assert store.ingest(path, from_start=True).updated == 1
        assert store.get("x", with_text=True).text == "first"


def test_a_file_has_one_document_whether_its_path_is_relative_or_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("ferry")
    monkeypatch.chdir(tmp_path)
    with create(tmp_path) as store:
        assert store.ingest(["notes.txt", str(path)]).added == 1
        path.write_text("bread")
        assert store.ingest(str(path)).updated == 1
        monkeypatch.chdir(tmp_path.parent)
        again = store.ingest(f"{tmp_path.name}/notes.txt")
        assert (again.unchanged, again.other_folder) == (1, 0)
        assert [one.key for one in store] == ["notes.txt"]
        (tmp_path / "other.txt").write_text("stone")
        store.ingest(str(tmp_path / "other.txt"))
        monkeypatch.chdir(tmp_path)
        assert store.ingest("other.txt").unchanged == 1


@pytest.mark.parametrize("kind", ["text", "rows", "archive"])
def test_a_file_of_the_same_name_in_another_folder_is_reported_if_it_replaces_a_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("notes.txt").write_text(f"ferry {folder}")
        # A key that a record brings with it is no name of a file.
        Path("rows.jsonl").write_text(
            f'{{"text": "bread {folder}"}}\n{{"id": "x", "text": "stone {folder}"}}\n'
        )
        with zipfile.ZipFile("notes.zip", "w") as archive:
            archive.write("notes.txt")
    name, key = {
        "text": ("notes.txt", "notes.txt"),
        "rows": ("rows.jsonl", "rows.jsonl:1"),
        "archive": ("notes.zip", "notes.zip!/notes.txt"),
    }[kind]
    with create(tmp_path) as store:
        monkeypatch.chdir(tmp_path / "a")
        assert store.ingest(name).other_folder == 0
        monkeypatch.chdir(tmp_path / "b")
        replaced = store.ingest(name)
        assert (replaced.other_folder, replaced.other_folder_keys) == (1, (key,))
        assert store.ingest(name).other_folder == 0
        # The remedy: an absolute path is another name.
        apart = store.ingest(str(tmp_path / "a" / name))
        assert (apart.added, apart.other_folder) == (1, 0)


def test_observer_hears_of_every_commit_and_rejection(tmp_path: Path) -> None:
    path = tmp_path / "article.txt"
    path.write_bytes(PAGES.replace(b"stone", b"s" * 200))
    progress: list[IngestProgress] = []
    rejected: list[Rejection] = []
    refreshed: list[tuple[int, int]] = []
    observer = Observer(
        on_progress=progress.append,
        on_reject=rejected.append,
        on_refresh=lambda done, total: refreshed.append((done, total)),
    )
    with create(tmp_path, SIMTOOL) as store:
        store.ingest(
            [str(path)],
            read=ReadOptions(max_document_bytes=100),
            options=IngestOptions(batch_documents=1, threads=1),
            observer=observer,
        )
    assert [one.document_count for one in progress][-1] == 2
    assert [one.document_count for one in progress] == sorted(
        one.document_count for one in progress
    )
    assert progress[-1].byte_count == progress[-1].total_bytes == path.stat().st_size
    assert {one.source for one in progress} == {str(path)}
    assert [(one.position, one.source) for one in rejected] == [(1, str(path))]
    assert refreshed[-1] == (2, 2)


def test_threads_of_an_ingest_end_with_it_though_its_error_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    before = set(threading.enumerate())
    monkeypatch.setattr("simstore.services.ingest.ingest.commit", refused)
    many = [(str(number), "some words " * 50) for number in range(5_000)]
    with create(tmp_path) as store:
        with pytest.raises(OSError, match="the disk is gone") as held:
            store.add_many(many, threads=2, batch_documents=100)
        assert held.value.__traceback__ is not None
        assert set(threading.enumerate()) == before


def test_options_out_of_range_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"threads": 0}, {"batch_documents": 0}, {"on_duplicate": "drop"}, {"min_resemblance": 0.0},
    ]  # fmt: skip
    for options in wrong:
        with pytest.raises(InvalidParameter):
            IngestOptions(**options)
