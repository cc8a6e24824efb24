"""``simstore compare`` as a command: what A and B may be, formats, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from forked import Nursery

from . import corpora
from .shells import Shell
from .test_wrong_use import assert_refused

A = "The harbour was quiet at dawn and the first boats came in with the tide.\n"
B = "The harbour was quiet at dawn and the first boats came in with the wind.\n"
STORED = "Mix flour, water and salt; let the dough rest for a night; bake it hot."


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    """A folder with two files and no store."""
    (tmp_path / "a.txt").write_text(A)
    (tmp_path / "b.txt").write_text(B)
    return Shell(nursery, tmp_path)


@pytest.fixture
def with_store(shell: Shell) -> Shell:
    """The same with a store; one of its keys is the name of a file, too."""
    pages = [("bread", STORED), ("a.txt", STORED), ("wind", B), ("file:x", A), ("key:y", A)]
    corpora.article_file(shell.folder / "pages.txt", pages)
    shell("ingest", "--as", "articles", "pages.txt")
    return shell


def compared(shell: Shell, *words: str | Path, **options: Any) -> dict[str, dict[str, Any]]:
    """Return what each algorithm says."""
    done = shell("compare", "--format", "jsonl", *words, **options)
    assert done.errors == ""
    found = [json.loads(line) for line in done.text.splitlines()]
    return {one["algorithm"]: one["values"] for one in found}


def is_text(found: dict[str, dict[str, Any]], letter: str, text: str) -> bool:
    return bool(found["md5"][letter] == hashlib.md5(text.encode()).hexdigest())  # noqa: S324


def test_files_need_no_store_and_make_none(shell: Shell) -> None:
    found = compared(shell, "a.txt", "b.txt")
    assert is_text(found, "a", A)
    assert is_text(found, "b", B)
    assert found["resemblance"]["similar"] is True
    assert sorted(path.name for path in shell.folder.iterdir()) == ["a.txt", "b.txt"]


def test_standard_input_on_either_side(shell: Shell) -> None:
    assert is_text(compared(shell, "-", "b.txt", stdin=b"piped\n"), "a", "piped\n")
    assert is_text(compared(shell, "b.txt", "-", stdin=b"piped\n"), "b", "piped\n")
    assert compared(shell, "-", "b.txt", stdin=b"")["blake2b"]["equal"] is False


def test_a_file_goes_before_a_key_of_the_same_name_and_prefixes_leave_no_doubt(
    with_store: Shell,
) -> None:
    found = compared(with_store, "a.txt", "key:a.txt")
    assert is_text(found, "a", A)
    assert is_text(found, "b", STORED)
    assert compared(with_store, "file:a.txt", "key:file:x")["md5"]["equal"] is True
    assert compared(with_store, "a.txt", "key:key:y")["md5"]["equal"] is True


def test_variable_may_name_a_store_that_is_still_to_be_made(nursery: Nursery, shell: Shell) -> None:
    environment = {**os.environ, "SIMSTORE_DB": "none.db"}
    done = shell("compare", "a.txt", "b.txt", environment=environment)
    assert "no store" in done.text
    assert not (shell.folder / "none.db").exists()
    for words in (["a.txt", "typo.txt"], ["typo.txt", "b.txt"]):
        done = nursery.simstore(shell.folder, "compare", *words, environment=environment)
        assert_refused(done, 3, "typo.txt", "no such file", "none.db")
    for words in (["--db", "none.db", "compare"], ["compare", "--db", "none.db"]):
        done = nursery.simstore(shell.folder, *words, "a.txt", "b.txt", environment=environment)
        assert_refused(done, 3, "none.db", "simstore init")


def test_wrong_use_is_refused_in_one_line(nursery: Nursery, shell: Shell) -> None:
    for words, code, said in (
        (["a.txt", "none.txt"], 3, ["none.txt", "no such file", "no store at simstore.db"]),
        (["a.txt", "key:none"], 3, ["no store", "simstore.db"]),
        (["file:none.txt", "a.txt"], 3, ["none.txt", "no such file"]),
        (["-", "-"], 2, ["standard input", "once"]),
        (["a.txt", "."], 5, ["folder"]),
        (["a.txt", "b.txt", "--db", "none.db"], 3, ["none.db"]),
        (["a.txt", "b.txt", "--db", "a.txt"], 6, ["a.txt", "not a simstore database"]),
        (["a.txt", "b.txt", "--weights", "idf"], 2, ["idf", "--db"]),
        (["a.txt", "b.txt", "--idf-band", "1", "0"], 2, ["idf band"]),
        (["a.txt", "b.txt", "--max-document-bytes", "10"], 5, ["a.txt", "limit"]),
        (["a.txt", "b.txt", "--no-normalize", "--fold-han"], 2, ["--no-normalize", "--fold-han"]),
    ):
        done = nursery.simstore(shell.folder, "compare", *words)
        assert_refused(done, code, *said)
        assert sorted(path.name for path in shell.folder.iterdir()) == ["a.txt", "b.txt"]


PAGE = (
    "<html><title>Ferry</title><nav><a href=/>Home</a> <a href=/s>Sport</a></nav><article>"
    + "".join(
        f"<p>The ferry to island number {n} leaves the harbour at nine.</p>" for n in range(9)
    )
    + "</article><footer>All rights reserved.</footer>"
)


def test_of_web_pages_the_main_texts_are_compared_and_it_is_told(shell: Shell) -> None:
    pytest.importorskip("resiliparse")
    (shell.folder / "a.html").write_text(PAGE)
    (shell.folder / "b.html").write_text(PAGE.replace("Sport", "Weather").replace("All", "No"))
    done = shell("compare", "a.html", "b.html", "--format", "jsonl")
    digest = next(
        one for one in map(json.loads, done.text.splitlines()) if "equal" in one["values"]
    )
    assert digest["values"]["equal"] is True
    assert done.errors.count("cut out of the page by") == 2
    assert compared(shell, "--as", "text", "a.html", "b.html")["blake2b"]["equal"] is False
