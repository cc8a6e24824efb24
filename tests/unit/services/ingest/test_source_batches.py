"""Going on: archives, files that have grown, and what was rejected before."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import tarred, zipped
from stores import create

from simstore.errors import MalformedRecord
from simstore.model import Ignored, IngestSummary, Rejection
from simstore.services.ingest.ingest import IngestOptions, Observer
from simstore.store import Store

LINES = [b'{"id": %d, "text": "text of line %d"}\n' % (n, n) for n in range(40)]
MEMBERS = {
    "a.txt": b"the first",
    "b.jsonl": b"".join(LINES[:15]),
    "picture.png": b"\x89PNG",
    "c.jsonl.gz": gzip.compress(b"".join(LINES[15:20]) + b"{broken\n"),
    "d.txt": b"the last",
}


PACKERS = {"a.zip": zipped, "a.tar.gz": lambda files: gzip.compress(tarred(files))}


def ingest(
    store: Store, path: Path, *, stop_after: int | None = None, **options: object
) -> IngestSummary:
    """Ingest a file, or so many of its commits, a document each."""
    commits = 0

    def count(_progress: object) -> None:
        nonlocal commits
        commits += 1

    observer = Observer(
        on_progress=count, should_stop=lambda: stop_after is not None and commits >= stop_after
    )
    chosen = {"batch_documents": 1, "threads": 1} if stop_after is not None else {}
    return store.ingest(
        [str(path)],
        options=IngestOptions(**chosen, **options),  # type: ignore[arg-type]
        observer=observer,
    )


def content(store: Store) -> list[tuple[str, str]]:
    return [(one.key, store.get(one.key, with_text=True).text or "") for one in store]


@pytest.mark.parametrize("name", PACKERS)
def test_archive_is_ingested_whole_and_again_without_change(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](MEMBERS))
    passed_over: list[Ignored] = []
    with create(tmp_path) as store:
        observer = Observer(on_pass_over=passed_over.append)
        done = store.ingest([str(path)], observer=observer)
        assert (done.added, done.rejected, done.passed_over) == (22, 1, 1)
        assert [one.source for one in passed_over] == [f"{path}!/picture.png"]
        keys = [key for key, _ in content(store)]
        assert keys[0] == f"{path}!/a.txt"
        assert keys[1:21] == [str(n) for n in range(20)]
        (kept,) = store.rejects.list()
        assert kept.rejection.source == f"{path}!/c.jsonl.gz"
        again = store.ingest([str(path)])
        assert (again.unchanged, again.rejected, again.resumed_at) == (22, 1, {})
        # A repaired archive takes its rejects along.
        path.write_bytes(PACKERS[name]({**MEMBERS, "c.jsonl.gz": b""}))
        assert store.ingest([str(path)]).rejected == 0
        assert store.rejects.list() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("stop_after", [1, 3, 16, 22])
def test_interrupted_archive_goes_on_where_it_was(
    tmp_path: Path, name: str, stop_after: int
) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](MEMBERS))
    with create(tmp_path) as store:
        first = ingest(store, path, stop_after=stop_after)
        assert first.interrupted
        records = first.added + first.rejected + first.passed_over
        second = ingest(store, path)
        assert str(path) in second.resumed_at or stop_after == 1
        # Nothing is read twice, nothing is left out.
        assert second.unchanged == 0
        assert records + second.added + second.rejected + second.passed_over == 24
        found = content(store)
    (tmp_path / "whole").mkdir()
    with create(tmp_path / "whole") as store:
        ingest(store, path)
        assert content(store) == found


@pytest.mark.parametrize("stop_after", [1, 5])
def test_strict_archive_stops_at_the_bad_record_and_goes_on_there(
    tmp_path: Path, stop_after: int
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({**MEMBERS, "../escape.txt": b"no", "e.txt": b"e"}))
    with create(tmp_path) as store:
        for place in (f"{path}!/c.jsonl.gz", f"{path}!/c.jsonl.gz"):
            with pytest.raises(MalformedRecord) as caught:
                ingest(store, path, strict=True)
            assert caught.value.path == place
            assert len(store) == 21
        assert ingest(store, path).added == 2
        assert len(store.rejects.list()) == 2
        assert len(store) == 23


GROWING: dict[str, Callable[[int], bytes]] = {
    "a.jsonl": lambda n: LINES[n],
    "a.csv": lambda n: (b"id,text\n" if not n else b"") + b"%d,text of line %d\n" % (n, n),
    "article.txt": lambda n: b"%d\ntext of line %d\n\f" % (n, n),
    "a.jsonl.gz": lambda n: gzip.compress(LINES[n]),
}


@pytest.mark.parametrize("name", GROWING)
def test_file_that_has_grown_is_read_on_from_where_it_ended(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    made = GROWING[name]
    path.write_bytes(b"".join(made(n) for n in range(10)))
    with create(tmp_path) as store:
        assert ingest(store, path).added == 10
        with path.open("ab") as file:
            file.write(b"".join(made(n) for n in range(10, 14)))
        more = ingest(store, path)
        assert (more.added, more.unchanged, more.resumed_at) == (4, 0, {str(path): 10})
        # It has not grown since: all of it is looked at.
        assert ingest(store, path).unchanged == 14
        with path.open("ab") as file:
            file.write(made(14))
        whole = ingest(store, path, from_start=True)
        assert (whole.added, whole.unchanged, whole.resumed_at) == (1, 14, {})


@pytest.mark.parametrize(
    ("first", "then"),
    [
        # The last record was not complete: it may be another now.
        (b"".join(LINES[:3]) + b'{"id": "x", "text": "half', b'..."}\n' + LINES[4]),
        (b"".join(LINES[:3])[:-1], b"\n" + LINES[4]),
    ],
)
def test_file_whose_last_record_was_not_complete_is_read_from_its_start(
    tmp_path: Path, first: bytes, then: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(first)
    with create(tmp_path) as store:
        ingest(store, path)
        path.write_bytes(first + then)
        done = ingest(store, path)
        assert (done.resumed_at, done.unchanged, done.rejected) == ({}, 3, 0)
        assert store.rejects.list() == []


def test_other_file_that_is_longer_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(LINES[:5]))
    with create(tmp_path) as store:
        ingest(store, path)
        path.write_bytes(b"".join(LINES[10:20]))
        assert ingest(store, path).added == 10


def test_rejects_before_the_place_are_kept_when_a_file_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"[]\n" + LINES[0])
    with create(tmp_path) as store:
        ingest(store, path)
        with path.open("ab") as file:
            file.write(b"{}\n")
        assert ingest(store, path).rejected == 1
        found = [one.rejection for one in store.rejects.list()]
        assert [(one.position, one.byte_offset) for one in found] == [
            (0, 0),
            (2, 3 + len(LINES[0])),
        ]
        assert all(isinstance(one, Rejection) for one in found)
