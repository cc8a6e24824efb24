"""Surroundings that are not as usual: full or closed outputs, other locales, links, folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forked import Nursery

from simstore import Files, Store

from . import corpora
from .processes import REPOSITORY, launch
from .shells import PAGES, SAMPLE
from .states import assert_sound

HAN = [("天地", "天地玄黄宇宙洪荒日月盈昃"), *PAGES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store, a source and a sample."""
    source = corpora.article_file(tmp_path / "article.txt", HAN)
    corpora.article_file(tmp_path / "sample.txt", [*SAMPLE, HAN[0]])
    with Store.create(tmp_path / "simstore.db") as store:
        store.ingest([str(source)])
        store.query_many(Files(str(source)), record=True)
    return tmp_path


OUTPUTS = [
    ["list"],
    ["list", "--format", "jsonl"],
    ["list", "--format", "csv"],
    ["show", "bread", "--text"],
    ["stats", "--format", "json"],
    ["query", "sample.txt"],
    ["query", "--format", "simtool", "sample.txt"],
    ["report", "-o", "-"],
    ["vocabulary", "show"],
    ["fsck"],
    ["--help"],
    ["ingest", "--help"],
]


@pytest.mark.slow
def test_results_that_cannot_be_written_are_an_error_in_one_line(
    nursery: Nursery, folder: Path
) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("there is no device that is always full")
    for words in OUTPUTS:
        done = nursery.run("simstore_into", folder, words=words, output=str(full))
        assert done.code == 6, (words, done.errors)
        assert len(done.error_lines) == 1, done.errors
        assert "no space left" in done.errors.lower()


@pytest.mark.slow
def test_exit_codes_do_not_change_if_standard_error_is_full(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("there is no device that is always full")
    program = [sys.executable, str(REPOSITORY / "cli.py")]
    for words, output, code in (
        (["show", "nobody"], os.devnull, 3),
        (["restore", "none.db", "--db", "s.db"], os.devnull, 3),
        (["list"], full, 6),
    ):
        with full.open("wb") as errors, open(output, "wb") as results:
            done = subprocess.run(
                [*program, *words], cwd=folder, stdout=results, stderr=errors, check=False
            )
        assert done.returncode == code, words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "descriptor"),
    [
        (["query", "-"], 0),
        (["list", "--format", "keys"], 1),
        (["query", "sample.txt"], 2),
    ],
    ids=["query-0", "list-1", "query-2"],
)
def test_closed_descriptors_are_no_traceback_and_touch_no_store(
    folder: Path, words: list[str], descriptor: int
) -> None:
    done = launch(
        folder,
        "-c",
        f"import os, sys; os.close({descriptor}); "
        f"os.execv(sys.executable, [sys.executable, *sys.argv[1:]])",
        REPOSITORY / "cli.py",
        *words,
        launcher=None,
    )
    assert done.code in (0, 3, 6), done.errors
    assert "Traceback" not in done.errors
    assert "Exception ignored" not in done.errors
    assert_sound(folder / "simstore.db")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "words", "expected", "code"),
    [
        ("latin-1", ["query", "sample.txt"], "天地", 0),
        ("gb2312", ["show", "天地"], "天地", 0),
        ("ascii", ["show", "没有"], "没有", 3),
    ],
    ids=["query", "show", "error"],
)
def test_what_the_terminal_cannot_show_is_escaped(
    folder: Path, encoding: str, words: list[str], expected: str, code: int
) -> None:
    done = launch(folder, *words, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert done.code == code, done.err
    assert b"Traceback" not in done.err
    assert expected.encode(encoding, "backslashreplace") in done.out + done.err


def test_store_opened_by_a_relative_path_stays_the_same_after_a_change_of_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "below").mkdir()
    monkeypatch.chdir(folder)
    with Store.open("simstore.db") as store:
        monkeypatch.chdir(folder / "below")
        assert store.add("new", "a new text") == "added"
        assert store.stats().file_bytes > 0
        assert store.maintenance.backup("copy.db") > 0
    assert (folder / "below" / "copy.db").exists()
    assert_sound(folder / "simstore.db")


@pytest.mark.slow
def test_store_behind_a_symbolic_link_is_the_store(nursery: Nursery, folder: Path) -> None:
    (folder / "links").mkdir()
    link = folder / "links" / "store.db"
    link.symlink_to(folder / "simstore.db")
    child = nursery.start("ingest", folder, place=str(folder / "simstore.db"), names=["sample.txt"])
    child.message()
    child.message()
    child.kill()
    done = nursery.simstore(folder, "list", "--db", link, "--format", "keys")
    assert done.code == 0, done.errors
    assert "asked" in done.text.split()
    assert nursery.simstore(folder, "ingest", "--db", link, "sample.txt").code == 0
    assert [path.name for path in (folder / "links").iterdir()] == ["store.db"]
    assert link.is_symlink()
    assert_sound(folder / "simstore.db")


@pytest.mark.slow
def test_interpreter_without_docstrings_and_asserts_gives_the_same_answers(folder: Path) -> None:
    words = ("query", "--format", "jsonl", "sample.txt")
    plain = launch(folder, *words)
    optimised = launch(folder, "-OO", REPOSITORY / "cli.py", *words, launcher=None)
    assert (optimised.code, optimised.errors) == (0, "")
    assert optimised.out == plain.out


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0"])
def test_hash_seed_of_the_interpreter_changes_nothing(folder: Path, seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = launch(folder, "ingest", "--db", "new.db", "article.txt", env=environment)
    assert done.code == 0
    with Store.open(folder / "simstore.db") as one, Store.open(folder / "new.db") as two:
        assert [d.fingerprint for d in one] == [d.fingerprint for d in two]
        assert one.vocabulary.terms() == two.vocabulary.terms()


@pytest.mark.slow
def test_warnings_as_errors_do_not_show(folder: Path) -> None:
    for words in (["ingest", "article.txt"], ["query", "sample.txt"]):
        done = launch(
            folder, "-W", "error", "-X", "dev", REPOSITORY / "cli.py", *words, launcher=None
        )
        assert done.code == 0, done.errors
        assert done.errors == "", done.errors
