"""``simstore export`` as a command: its parts, its filter, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simstore import KnownFilter

from . import corpora
from .processes import Nursery
from .test_commands import PAGES, Shell
from .test_wrong_use import assert_refused


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with a store of four pages, one a copy, and one nearly the same."""
    corpora.article_file(tmp_path / "article.txt", PAGES)
    made = Shell(nursery, tmp_path)
    made("ingest", "article.txt")
    return made


def keys(path: Path) -> list[str]:
    return [json.loads(line)["key"] for line in path.read_text("utf-8").splitlines()]


def test_all_documents_go_to_standard_output(shell: Shell) -> None:
    done = shell("export")
    found = [json.loads(line) for line in done.text.splitlines()]
    assert [record["key"] for record in found] == [key for key, _ in PAGES]
    assert done.error_lines == ["standard output: 4 documents"]
    assert shell("export", "-q", "-o", "-").errors == ""


def test_unique_and_what_it_leaves_out(shell: Shell) -> None:
    done = shell("export", "--unique", "-o", "unique.jsonl", "--log", "dropped.jsonl")
    assert done.out == b""
    assert done.error_lines == [
        "unique.jsonl: 2 documents",
        "2 others left out, of 1 clusters",
        "dropped.jsonl: what was left out",
    ]
    assert keys(shell.folder / "unique.jsonl") == ["harbour", "bread"]
    assert keys(shell.folder / "dropped.jsonl") == ["harbour-2", "copy"]
    found = shell.json_lines("export", "--duplicates", "--no-text")
    assert [record["key"] for record in found] == ["harbour-2", "copy"]
    assert not any("text" in record for record in found)
    assert [record["dropped_because"]["canonical"] for record in found] == ["harbour"] * 2  # type: ignore[index]
    assert shell.lines("export", "--unique", "--dry-run") == [
        "documents              2",
        "bytes of text          143",
        "clusters               1",
        "dropped                2",
        "bytes of dropped text  144",
    ]
    # A store of the unique part takes the rest again.
    shell("ingest", "--db", "again.db", "unique.jsonl", "dropped.jsonl")
    assert sorted(shell.lines("list", "--db", "again.db", "--format", "keys")) == sorted(
        key for key, _ in PAGES
    )


def test_a_filter_for_a_crawler(shell: Shell) -> None:
    done = shell("export", "--filter", "known.filter", "--false-positive-rate", "0.0001")
    assert done.out == b""
    assert done.error_lines == ["known.filter: 4 keys", "known.filter: 3 digests"]
    known = KnownFilter.load(shell.folder / "known.filter")
    assert all(known.knows_key(key) for key, _ in PAGES)
    # Without a store.
    (shell.folder / "simstore.db").unlink()
    done = shell("seen", "--filter", "known.filter", "harbour", "bread")
    assert done.lines_of_table() == [["harbour", "known"], ["bread", "known"]]
    done = shell("seen", "--filter", "known.filter", "harbour", "never", code=3)
    assert done.lines_of_table() == [["harbour", "known"], ["never", "unknown"]]
    (shell.folder / "page.txt").write_text("no such text")
    shell("seen", "--filter", "known.filter", "--text", "page.txt", code=3)


def test_a_filter_of_keys_alone(shell: Shell) -> None:
    shell("export", "--filter", "known.filter", "--of", "keys", "--capacity", "5000")
    known = KnownFilter.load(shell.folder / "known.filter")
    assert known.of == ("keys",)
    assert len(known.table("keys").slots) >= 5000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--unique", "--filter", "f"], 2, "--unique: not with --filter"),
        (["-o", "x", "--log", "y", "--filter", "f"], 2, "--log, --output: not with --filter"),
        (["--capacity", "9", "--of", "keys"], 2, "--capacity, --of: only with --filter"),
        (["--filter", "f", "--of", "urls"], 2, "choose keys, digests"),
        (["--filter", "f", "--of", ""], 2, "choose keys, digests"),
        (["--filter", "f", "--false-positive-rate", "1.5"], 2, "above 0 and below 1"),
        (["--filter", "f", "--capacity", "1"], 2, "the store knows 4 keys"),
        (["--filter", "article.txt"], 4, "--force"),
        (["--filter", "none/f"], 6, "cannot be written"),
        (["--log", "y"], 2, "unique part"),
        (["--unique", "-o", "x", "--log", "./x"], 2, "one file"),
        (["-o", "article.txt"], 4, "--force"),
        (["--unique", "-o", "x", "--log", "article.txt"], 4, "--force"),
        (["-o", "none/x"], 6, "cannot be written"),
        (["--force", "-o", "simstore.db"], 2, "belongs to the store"),
        (["--force", "--filter", "simstore.db"], 2, "belongs to the store"),
        (["--force", "--unique", "--log", "simstore.db"], 2, "belongs to the store"),
        (["--format", "csv"], 2, "'csv' is not one of"),
    ],
)
def test_mistakes_are_refused_in_a_line(shell: Shell, words: list[str], code: int, said: str) -> None:
    before = {path.name for path in shell.folder.iterdir()}
    done = shell("export", *words, code=code)
    assert_refused(done, code, said)
    assert {path.name for path in shell.folder.iterdir()} - before <= {
        "simstore.db-wal", "simstore.db-shm",
    }  # fmt: skip


def test_a_pipe_that_closes_early_is_no_failure(shell: Shell) -> None:
    # What reads has seen enough.
    done = shell("export", "-o", "/dev/null")
    assert done.error_lines == ["/dev/null: 4 documents"]
