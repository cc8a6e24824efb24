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

# Every command that needs a store, in a use that is right but for the store.
NEEDS_STORE = [
    ["query", "sample.txt"],
    ["check", "sample.txt"],
    ["report"],
    ["report", "--list"],
    ["compare", "key:harbour", "key:bread"],
    ["clusters"],
    ["clusters", "--once"],
    ["clusters", "--status"],
    ["clusters", "--merges"],
    ["clusters", "--drop", "--yes"],
    ["evaluate", "--exact"],
    ["list"],
    ["show", "harbour"],
    ["remove", "harbour"],
    ["duplicates"],
    ["orphans"],
    ["export"],
    ["export", "--unique"],
    ["export", "--known-keys", "known.filter"],
    ["stats"],
    ["vocabulary", "status"],
    ["vocabulary", "refresh"],
    ["vocabulary", "show"],
    ["vocabulary", "policy", "frozen"],
    ["reindex"],
    ["rejects", "list"],
    ["rejects", "show", "1"],
    ["rejects", "clear", "--yes"],
    ["backup", "copy.db"],
    ["compact"],
    ["pack"],
    ["unpack"],
    ["fingerprints", "add", "hashes.txt"],
    ["fingerprints", "remove", "hashes.txt"],
    ["fingerprints", "near", "00"],
    ["fingerprints", "pairs"],
    ["upgrade"],
    ["fsck"],
]
commands = pytest.mark.parametrize("words", NEEDS_STORE, ids=lambda words: "-".join(words[:2]))


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


@commands
def test_command_without_a_store_exits_with_3_and_makes_none(
    nursery: Nursery, folder: Path, words: list[str]
) -> None:
    before = names(folder)
    done = nursery.simstore(folder, *words, "--db", "none.db")
    assert_refused(done, 3, "none.db", "simstore init")
    assert names(folder) == before


@commands
def test_command_on_a_text_file_exits_with_6_and_leaves_it(
    nursery: Nursery, folder: Path, words: list[str]
) -> None:
    before, data = names(folder), (folder / "article.txt").read_bytes()
    done = nursery.simstore(folder, *words, "--db", "article.txt")
    assert_refused(done, 6, "article.txt", "not a simstore database")
    assert (names(folder), (folder / "article.txt").read_bytes()) == (before, data)


@pytest.mark.parametrize(
    "words", [["ingest", "article.txt"], ["stats"], ["query", "sample.txt"], ["init"]],
    ids=lambda words: words[0],
)  # fmt: skip
@pytest.mark.parametrize("what", ["folder", "empty", "other", "cut", "device"])
def test_something_else_in_the_stores_place_is_refused_and_left(
    nursery: Nursery, folder: Path, words: list[str], what: str
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
    done = nursery.simstore(folder, *words, "--db", place)
    assert_refused(done, 4 if words == ["init"] else 6, place.name)
    assert data is None or place.read_bytes() == data


@pytest.mark.parametrize("words", [["init"], ["ingest", "article.txt"]], ids=["init", "ingest"])
def test_store_in_a_folder_that_is_not_there_is_not_made(
    nursery: Nursery, folder: Path, words: list[str]
) -> None:
    done = nursery.simstore(folder, *words, "--db", "none/simstore.db")
    assert_refused(done, 6, "folder")
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("place", "codes"),
    [
        ("", (2,)),
        (".", (2, 6)),
        ("nonsense://somewhere/x", (2,)),
        ("mysql://somewhere/x", (2,)),
        ("mysql+pymysql://somewhere/x", (2,)),
        ("postgresql+asyncpg://somewhere/x", (2,)),
        ("http://127.0.0.1:1/", (2,)),
        ("postgresql+psycopg://nobody@127.0.0.1:1/none", (2, 6)),
        ("sqlite:///none.db", (3,)),
        ("sqlite://", (2, 3, 6)),
        ("name\x00with-nul", (2, 3, 6)),
        ("x" * 5_000, (3, 6)),
    ],
    ids=[
        "empty",
        "dot",
        "scheme",
        "mysql",
        "mysql driver",
        "driver",
        "http",
        "server",
        "url",
        "memory",
        "nul",
        "long",
    ],
)
def test_impossible_place_of_a_store_is_a_line(
    nursery: Nursery, folder: Path, place: str, codes: tuple[int, ...]
) -> None:
    before = names(folder)
    done = nursery.simstore(folder, "stats", "--db", place)
    assert done.code in codes, (done.code, done.errors)
    assert done.out == b""
    assert "Traceback" not in done.errors
    assert names(folder) == before


def test_store_can_be_named_by_url(nursery: Nursery, folder: Path) -> None:
    done = nursery.simstore(folder, "list", "--db", f"sqlite:///{folder}/simstore.db")
    assert (done.code, done.errors) == (0, "")
    assert len(done.text.splitlines()) == 1 + len(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--no-such-option"], 2, "--no-such-option"),
        (["no-such-command"], 2, "no-such-command"),
        (["query", "--no-such-option", "sample.txt"], 2, "--no-such-option"),
        (["query"], 2, "SOURCE"),
        (["ingest"], 2, "SOURCE"),
        (["show"], 2, "KEY"),
        (["remove"], 2, "KEY"),
        (["backup"], 2, "FILE"),
        (["completion", "tcsh"], 2, "tcsh"),
        (["ingest", "--as", "nonsense", "article.txt"], 2, "nonsense"),
        (["ingest", "--threads", "0", "article.txt"], 2, "threads"),
        (["query", "--threads", "0", "sample.txt"], 2, "threads"),
        (["check", "--threads", "0", "sample.txt"], 2, "threads"),
        (["ingest", "--max-document-bytes", "0", "article.txt"], 2, "max-document-bytes"),
        (["ingest", "--synchronous", "off", "article.txt"], 2, "off"),
        (["ingest", "--scheme", "simtool", "article.txt"], 2, "simstore.db"),
        (["ingest", "--no-text", "article.txt"], 2, "simstore.db"),
        (["ingest", "-", "-"], 2, "standard input"),
        (["ingest", "none.txt"], 3, "none.txt"),
        (["ingest", "article.txt", "none*.txt"], 3, "none*.txt"),
        (["ingest", "--collection"], 2, "--collection"),
        (["query", "-k", "-1", "sample.txt"], 2, "-1"),
        (["query", "-k", "65", "sample.txt"], 2, "65"),
        (["query", "-k", "three", "sample.txt"], 2, "three"),
        (["query", "--limit", "0", "sample.txt"], 2, "limit"),
        (["query", "--min-resemblance", "2", "sample.txt"], 2, "min-resemblance"),
        (["query", "--min-containment", "-0.1", "sample.txt"], 2, "min-containment"),
        (["query", "--min-likeness", "half", "sample.txt"], 2, "half"),
        (["query", "--min-cosine", "1.01", "sample.txt"], 2, "min-cosine"),
        (["query", "--min-features", "-1", "sample.txt"], 2, "min-features"),
        (["query", "--channels", "simhush", "sample.txt"], 2, "simhush"),
        (["compact", "--bands", "32"], 2, "32x4"),
        (["compact", "--bands", "0x4"], 2, "at least 1"),
        (["compact", "--bands", "33x4"], 2, "at most 128"),
        (["compact", "--bands", "-1x3"], 2, "32x4"),
        (["reindex", "--channels", "none"], 2, "none"),
        (["reindex", "--resume", "--channels", "minhash"], 2, "--resume"),
        (["query", "--since", "yesterday", "sample.txt"], 2, "yesterday"),
        (["query", "--where", "site", "sample.txt"], 2, "FIELD=VALUE"),
        (["query", "--where", "=x", "sample.txt"], 2, "FIELD=VALUE"),
        (["query", "--plan", "guess", "sample.txt"], 2, "guess"),
        (["query", "--plan", "expanded", "-k", "5", "sample.txt"], 2, "1,000,000"),
        (["query", "--plan", "probe", "-k", "4", "sample.txt"], 2, "at most 3"),
        (["query", "--plan", "tables16", "-k", "4", "sample.txt"], 2, "at most 3"),
        (["query", "--format", "xml", "sample.txt"], 2, "xml"),
        (["query", "none.txt"], 3, "none.txt"),
        (["query", "-", "-"], 2, "standard input"),
        (["report"], 3, "simstore query"),
        (["report", "7"], 3, "7"),
        (["report", "seven"], 2, "seven"),
        (["report", "--format", "xml"], 2, "xml"),
        (["show", "none"], 3, "none"),
        (["remove", "none"], 3, "none"),
        (["remove", "harbour", "none"], 3, "none"),
        (["list", "--limit", "0"], 2, "limit"),
        (["list", "--format", "xml"], 2, "xml"),
        (["init"], 4, "simstore.db"),
        (["init", "--db", "new.db", "--scheme", "none"], 2, "none"),
        (["init", "--db", "new.db", "--bits", "0"], 2, "0"),
        (["init", "--db", "new.db", "--bits", "129"], 2, "129"),
        (["init", "--db", "new.db", "--features", "10"], 2, "--features"),
        (["init", "--db", "new.db", "--scheme", "simtool", "-N", "0"], 2, "0"),
        (["init", "--db", "new.db", "--scheme", "simtool", "--weights", "tf"], 2, "--weights"),
        (["init", "--db", "new.db", "--scheme", "simtool", "--hash-table", "none"], 3, "none"),
        (
            ["init", "--db", "new.db", "--scheme", "simtool", "--stopwords", "none.txt"],
            3,
            "none.txt",
        ),
        (
            ["init", "--db", "new.db", "--scheme", "simtool", "--hash-table", "sample.txt"],
            2,
            "line",
        ),
        (["init", "--db", "new.db", "--policy", "none"], 2, "none"),
        (["vocabulary", "policy", "none"], 2, "none"),
        (["vocabulary", "show", "--limit", "0"], 2, "--limit"),
        (["vocabulary", "none"], 2, "none"),
        (["reindex", "--resume"], 4, "reindex"),
        (["reindex", "--abort"], 4, "reindex"),
        (["reindex", "--resume", "--abort"], 2, "--abort"),
        (["reindex", "--resume", "--scheme", "web"], 2, "--resume"),
        (["reindex", "--bits", "0"], 2, "0"),
        (["reindex", "--scheme", "simtool", "--hash-table", "none"], 3, "none"),
        (["rejects", "show", "1"], 3, "1"),
        (["rejects", "show", "one"], 2, "one"),
        (["rejects", "none"], 2, "none"),
        (["backup", "article.txt"], 4, "article.txt"),
        (["backup", "simstore.db"], 2, "simstore.db"),
        (["backup", "none/copy.db"], 6, "folder"),
        (["stats", "--format", "xml"], 2, "xml"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_wrong_word_is_named_and_changes_nothing(
    nursery: Nursery, folder: Path, words: list[str], code: int, says: str
) -> None:
    before, data = names(folder), (folder / "simstore.db").read_bytes()
    done = nursery.simstore(folder, *words, stdin=b"a\nb")
    assert_refused(done, code, says)
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
