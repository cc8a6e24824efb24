"""A user's mistakes: the documented exit code, one line that says what, where and the remedy."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from forked import Finished, Nursery

from . import corpora
from .processes import launch
from .shells import PAGES, SAMPLE


@pytest.fixture(scope="session")
def made_folder(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    corpora.article_file(folder / "article.txt", PAGES)
    corpora.article_file(folder / "sample.txt", SAMPLE)
    assert nursery.simstore(folder, "ingest", "article.txt").code == 0
    return folder


@pytest.fixture
def folder(made_folder: Path, tmp_path: Path) -> Path:
    """A folder with a store, a source and a sample."""
    for name in ("simstore.db", "article.txt", "sample.txt"):
        shutil.copy(made_folder / name, tmp_path)
    return tmp_path


def assert_refused(done: Finished, code: int, *words: str) -> None:
    """One line on stderr, with these words, and nothing on stdout."""
    assert done.code == code, (done.code, done.errors)
    assert done.out == b""
    lines = [line for line in done.error_lines if line]
    if code == 2 and lines[0].startswith("Usage: "):
        # How click shows a word that is wrong: usage, where to find help, the error.
        lines = lines[2:]
    assert len(lines) == 1, done.errors
    # A server writes what it says into its log.
    lines[0] = re.sub(r"^\S+Z ERROR ", "Error: ", lines[0])
    assert lines[0].startswith("Error: ")
    assert len(lines[0]) < 400
    for word in words:
        assert word in lines[0]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("what", ["folder", "empty", "other", "cut", "device"])
def test_something_else_in_the_stores_place_is_refused_and_left(
    nursery: Nursery, folder: Path, what: str
) -> None:
    place = folder / "place.db"
    if what == "folder":
        place.mkdir()
    elif what == "empty":
        place.touch()
    elif what == "other":
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.commit()
    elif what == "cut":
        place.write_bytes((folder / "simstore.db").read_bytes()[:40_000])
    else:
        place = Path(os.devnull)
    data = place.read_bytes() if place.is_file() else None
    for words in (["ingest", "article.txt"], ["query", "sample.txt"], ["init"]):
        done = nursery.simstore(folder, *words, "--db", place)
        assert_refused(done, 4 if words == ["init"] else 6, place.name)
        assert data is None or place.read_bytes() == data


def test_store_in_a_folder_that_is_not_there_is_not_made(nursery: Nursery, folder: Path) -> None:
    for words in (["init"], ["ingest", "article.txt"]):
        done = nursery.simstore(folder, *words, "--db", "none/simstore.db")
        assert_refused(done, 6, "folder")
        assert not (folder / "none").exists()


def test_impossible_place_of_a_store_is_a_line(nursery: Nursery, folder: Path) -> None:
    before = names(folder)
    for place, codes in (
        ("", (2,)),
        ("nonsense://somewhere/x", (2,)),
        ("mysql+pymysql://somewhere/x", (2,)),
        ("http://127.0.0.1:1/", (2,)),
        ("postgresql+psycopg://nobody@127.0.0.1:1/none", (2, 6)),
        ("sqlite:///none.db", (3,)),
        ("sqlite://", (2, 3, 6)),
        ("name\x00with-nul", (2, 3, 6)),
        ("x" * 5_000, (3, 6)),
    ):
        done = nursery.simstore(folder, "stats", "--db", place)
        assert done.code in codes, (place, done.code, done.errors)
        assert done.out == b""
        assert "Traceback" not in done.errors
        assert names(folder) == before


def test_store_can_be_named_by_url(nursery: Nursery, folder: Path) -> None:
    done = nursery.simstore(folder, "list", "--db", f"sqlite:///{folder}/simstore.db")
    assert (done.code, done.errors) == (0, "")
    assert len(done.text.splitlines()) == 1 + len(PAGES)


@pytest.mark.slow
def test_wrong_word_is_named_and_changes_nothing(nursery: Nursery, folder: Path) -> None:
    before, data = names(folder), (folder / "simstore.db").read_bytes()
    simtool = ["init", "--db", "new.db", "--scheme", "simtool"]
    for words, code, says in (
        (["no-such-command"], 2, "no-such-command"),
        (["ingest", "--no-text", "article.txt"], 2, "simstore.db"),
        (["ingest", "-", "-"], 2, "standard input"),
        (["ingest", "article.txt", "none*.txt"], 3, "none*.txt"),
        (["query", "--plan", "expanded", "-k", "5", "sample.txt"], 2, "1,000,000"),
        (["query", "--plan", "probe", "-k", "4", "sample.txt"], 2, "at most 3"),
        (["query", "--where", "=x", "sample.txt"], 2, "FIELD=VALUE"),
        (["compact", "--bands", "33x4"], 2, "at most 128"),
        (["report"], 3, "simstore query"),
        (["report", "7"], 3, "7"),
        (["init"], 4, "simstore.db"),
        (["init", "--db", "new.db", "--features", "10"], 2, "--features"),
        ([*simtool, "--weights", "tf"], 2, "--weights"),
        ([*simtool, "--stopwords", "none.txt"], 3, "none.txt"),
        ([*simtool, "--hash-table", "sample.txt"], 2, "line"),
        (["reindex", "--resume"], 4, "reindex"),
        (["reindex", "--abort"], 4, "reindex"),
        (["reindex", "--resume", "--abort"], 2, "--abort"),
        (["reindex", "--resume", "--channels", "minhash"], 2, "--resume"),
        (["backup", "-"], 2, "name one"),
        (["backup", "article.txt"], 4, "article.txt"),
        (["backup", "none/copy.db"], 6, "folder"),
    ):
        assert_refused(nursery.simstore(folder, *words, stdin=b"a\nb"), code, says)
        left = [name for name in names(folder) if not name.endswith(("-wal", "-shm"))]
        assert left == before
        assert (folder / "simstore.db").read_bytes() == data


@pytest.mark.slow
def test_backup_is_never_written_over_the_store_itself(nursery: Nursery, folder: Path) -> None:
    (folder / "link.db").symlink_to("simstore.db")
    os.link(folder / "simstore.db", folder / "hard.db")
    for target in ("simstore.db", "./simstore.db", "link.db", "hard.db"):
        done = nursery.simstore(folder, "backup", "--force", target)
        assert done.code in (2, 4), (target, done.text)
        assert len(done.error_lines) == 1
    assert nursery.simstore(folder, "fsck").text == "sound\n"
    assert len(nursery.simstore(folder, "list", "--format", "keys").text.split()) == len(PAGES)


def test_report_is_never_written_over_the_store_itself(nursery: Nursery, folder: Path) -> None:
    assert nursery.simstore(folder, "query", "sample.txt").code == 0
    data = (folder / "simstore.db").read_bytes()
    (folder / "link.db").symlink_to("simstore.db")
    for target in ("simstore.db", "./simstore.db", "link.db"):
        done = nursery.simstore(folder, "report", "-o", target)
        assert done.code in (2, 4), (target, done.text)
    assert (folder / "simstore.db").read_bytes() == data


@pytest.mark.slow
def test_damaged_store_is_reported_in_lines_by_every_command(
    nursery: Nursery, folder: Path
) -> None:
    path = folder / "simstore.db"
    data = bytearray(path.read_bytes())
    for start in range(8_192, len(data) - 512, 4_096):
        data[start : start + 512] = b"\xa5" * 512
    path.write_bytes(data)
    for words in (
        ["stats"], ["list"], ["query", "sample.txt"], ["fsck"], ["ingest", "article.txt"],
        ["show", "harbour"], ["remove", "harbour"], ["compact"], ["backup", "copy.db"],
        ["reindex"], ["vocabulary", "show"], ["vocabulary", "refresh"], ["report"], ["upgrade"],
    ):  # fmt: skip
        path.write_bytes(data)
        for suffix in ("-wal", "-shm"):
            (folder / f"simstore.db{suffix}").unlink(missing_ok=True)
        done = nursery.simstore(folder, *words)
        assert done.code == 6, (words, done.code, done.errors)
        assert "Traceback" not in done.errors, words
        assert len(done.error_lines) <= 1, words
    assert not (folder / "copy.db").exists()


@pytest.mark.slow
def test_wrong_use_in_a_new_interpreter_is_the_same(tmp_path: Path) -> None:
    assert_refused(launch(tmp_path, "stats"), 3, "simstore.db")
    assert_refused(launch(tmp_path, "query", "--what", "x"), 2, "--what")
    assert list(tmp_path.iterdir()) == []
