"""Commands that write a store, or a copy of one, whose disk fails at any operation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import second_migration

from simstore import Document, Store

from .faults import KINDS, MOST, Faulted, Faults

pytestmark = [pytest.mark.torture, pytest.mark.sqlite("faults are of files")]

Prepare = Callable[[], None]


def pages(numbers: range) -> list[Document]:
    return [
        Document(f"page {n}", f"The bridge of page {n} stays shut for {n * n} weeks.")
        for n in numbers
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.db"
    with Store.create(path) as made:
        made.add_many(pages(range(30)))
        made.remove(*(f"page {n}" for n in range(20, 30)))
    return path


@pytest.fixture(scope="module")
def older_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("older") / "older.db"
    with Store.create(path) as made:
        made.add_many(pages(range(3)))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "folder"


def prepared(folder: Path, **files: Path) -> Prepare:
    """Return what makes a folder anew with copies of files."""

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, file in files.items():
            shutil.copy(file, folder / f"{name}.db")

    return prepare


def documents(path: Path) -> list[tuple[str, str | None]]:
    with second_migration.opened(path) as store:
        assert store.maintenance.fsck() == []
        return [(one.key, one.text) for one in store.list(with_text=True)]


def files(folder: Path) -> list[str]:
    """Return the files of a folder that are no journals of its stores."""
    names = {path.name for path in folder.iterdir()}
    return sorted(
        name for name in names if not name.endswith(("-wal", "-shm")) or name[:-4] not in names
    )


@pytest.mark.parametrize("kind", KINDS)
def test_backup(faults: Faults, folder: Path, store: Path, kind: str) -> None:
    words = ["backup", "--db", store, folder / "copy.db"]
    for faulted in faults.at_each(words, folder, kind, prepared(folder), most=MOST):
        was_made = (folder / "copy.db").exists()
        again = faults.nursery.simstore(folder, *words)
        assert again.code == (4 if was_made else 0), (faulted, again)
        assert documents(folder / "copy.db") == documents(store), faulted
        assert files(folder) == ["copy.db"], faulted


@pytest.mark.parametrize("kind", KINDS)
def test_backup_in_the_place_of_an_older_copy(
    faults: Faults, folder: Path, store: Path, older_copy: Path, kind: str
) -> None:
    words = ["backup", "--force", "--db", store, folder / "copy.db"]
    prepare = prepared(folder, copy=older_copy)
    for faulted in faults.at_each(words, folder, kind, prepare, most=MOST):
        assert documents(folder / "copy.db") in (documents(older_copy), documents(store)), faulted
        again = faults.nursery.simstore(folder, *words)
        assert again.code == 0, (faulted, again)
        assert documents(folder / "copy.db") == documents(store), faulted
        assert files(folder) == ["copy.db"], faulted


@pytest.mark.parametrize("kind", KINDS)
def test_compact(faults: Faults, folder: Path, store: Path, kind: str) -> None:
    words = ["compact", "--db", folder / "store.db"]
    prepare = prepared(folder, store=store)
    for faulted in faults.at_each(words, folder, kind, prepare, most=MOST):
        again = faults.nursery.simstore(folder, *words)
        assert again.code == 0, (faulted, again)
        assert documents(folder / "store.db") == documents(store), faulted
        assert files(folder) == ["store.db"], faulted


@pytest.mark.parametrize("kind", KINDS)
def test_upgrade(faults: Faults, folder: Path, store: Path, kind: str) -> None:
    words = ["upgrade", "--db", folder / "store.db"]
    second_migration.write(folder)
    prepare = prepared(folder, store=store)
    for faulted in faults.at_each(words, folder, kind, prepare, most=MOST):
        again = faults.nursery.simstore(folder, *words)
        assert again.code == 0, (faulted, again)
        assert second_migration.is_upgraded(folder / "store.db"), faulted
        assert documents(folder / "store.db") == documents(store), faulted
        assert files(folder) == ["store.db", "store.db.0001.backup"], faulted


@pytest.mark.parametrize("kind", KINDS)
def test_first_ingest(faults: Faults, folder: Path, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(
        "".join(json.dumps({"key": one.key, "text": one.text}) + "\n" for one in pages(range(9)))
    )
    words = ["ingest", "--db", folder / "store.db", "--bits", "100", "--no-text", source]
    for faulted in faults.at_each(words, folder, kind, prepared(folder), most=MOST):
        again = faults.nursery.simstore(folder, *words)
        assert again.code == 0, (faulted, again)
        with Store.open(folder / "store.db") as store:
            assert store.maintenance.fsck() == []
            assert (len(store), store.maintenance.scheme().bits) == (9, 100)
            assert not store.stats().text_kept
        assert files(folder) == ["store.db"], faulted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz", "known.filter"])
def test_export(faults: Faults, folder: Path, store: Path, name: str, kind: str) -> None:
    option = "--known-keys" if name == "known.filter" else "-o"
    words = ["export", "--db", store, option, folder / name]
    prepare = prepared(folder)
    prepare()
    faults.nursery.simstore(folder, *words)
    expected = (folder / name).read_bytes()
    for faulted in faults.at_each(words, folder, kind, prepare, most=MOST):
        assert_whole_or_nothing(faulted, folder / name, expected)
        again = faults.nursery.simstore(folder, *words, "--force")
        assert again.code == 0, (faulted, again)
        assert (folder / name).read_bytes() == expected
        assert files(folder) == [name], faulted


def assert_whole_or_nothing(faulted: Faulted, path: Path, expected: bytes) -> None:
    assert not path.exists() or path.read_bytes() == expected, faulted
