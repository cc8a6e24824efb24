"""The course tool."""

from __future__ import annotations

import shutil
from pathlib import Path

from forked import Nursery

from e2e import corpora
from e2e.processes import REPOSITORY


def test_simtool_and_the_store_write_the_same_result(nursery: Nursery, tmp_path: Path) -> None:
    corpora.course_folder(tmp_path, features=100)
    pages = corpora.pages(16, 80, repeats=False)
    corpora.article_file(tmp_path / "article.txt", pages)
    corpora.article_file(tmp_path / "sample.txt", corpora.samples(16, pages))
    done = nursery.run("simtool", tmp_path, words=["90", "32"])
    assert (done.code, done.errors) == (0, "")
    written = (tmp_path / "result.txt").read_bytes()
    assert written.startswith(done.out)
    assert written.count(b":page-") > 20
    (tmp_path / "result.txt").unlink()
    options = ["--scheme", "simtool", "-N", "90", "-M", "32", "--hash-table", "hashvalue.txt"]
    options += ["--stopwords", "stopwords.txt"]
    assert nursery.simstore(tmp_path, "init", *options).code == 0
    for words in (["ingest", "article.txt"], ["query", "sample.txt"], ["report"]):
        assert nursery.simstore(tmp_path, *words).code == 0
    assert (tmp_path / "result.txt").read_bytes() == written


def test_simtool_names_what_is_missing_or_wrong(nursery: Nursery, tmp_path: Path) -> None:
    for name in ("article.txt", "sample.txt", "stopwords.txt", "hashvalue.txt"):
        shutil.copy(REPOSITORY / "tests" / "data" / "course" / name, tmp_path)
    wrong = {
        ("0", "32"): 2, ("10", "0"): 2, ("10", "129"): 2, ("1000000", "32"): 2, ("ten", "32"): 2,
        ("10",): 2,
    }  # fmt: skip
    for words, code in wrong.items():
        done = nursery.run("simtool", tmp_path, words=list(words))
        assert (done.code, done.out) == (code, b""), words
        assert done.error_lines[-1].startswith("Error: ")
    (tmp_path / "hashvalue.txt").write_text("0101\n01x1\n")
    done = nursery.run("simtool", tmp_path, words=["2", "4"])
    assert done.code == 2
    assert "hashvalue.txt" in done.errors
    assert "line 2" in done.errors
    (tmp_path / "sample.txt").unlink()
    (tmp_path / "hashvalue.txt").write_text("0101\n0111\n")
    done = nursery.run("simtool", tmp_path, words=["2", "4"])
    assert done.code == 3
    assert len(done.error_lines) == 1
    assert "sample.txt" in done.errors
    assert not (tmp_path / "result.txt").exists()
