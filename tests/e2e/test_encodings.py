"""The command line tells what it decoded by detection, and how to read what it rejected."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell

TEXT = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
TOLD = "a.txt: decoded as GB18030 by detection"


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    made = Shell(nursery, tmp_path)
    (tmp_path / "a.txt").write_bytes(TEXT.encode("gbk"))
    (tmp_path / "utf8.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "odd.txt").write_bytes(b"\xff\xff")
    return made


@pytest.mark.slow
def test_show_and_compare_tell_where_words_were_hidden(shell: Shell) -> None:
    (shell.folder / "hidden.txt").write_text("Buy fr\u200bee boats and ch\u0435ap ones.", "utf-8")
    told = (
        "  characters 4 to 9: 'fr\\u200bee' is compared as free",
        "  characters 20 to 25: 'ch\\u0435ap' is compared as cheap",
    )
    shell("ingest", "hidden.txt")
    shown = shell("show", "hidden.txt", "--text")
    assert "hides words: hidden characters, mixed scripts" in shown.errors
    assert all(one in shown.errors for one in told)
    compared = shell("compare", "hidden.txt", "utf8.txt")
    assert "A hides words" in compared.errors
    assert all(one in compared.errors for one in told)
    found = shell("compare", "hidden.txt", "utf8.txt", "--format", "jsonl").text
    assert '"compared":"free"' in found.replace('": "', '":"')


@pytest.mark.slow
def test_what_is_rejected_is_told_with_the_remedy_which_helps(shell: Shell) -> None:
    done = shell("ingest", "odd.txt", code=5)
    assert "not UTF-8 at byte 0" in done.errors
    assert "(perhaps CP1252): name it, as with --encoding cp1252" in done.errors
    assert "1 added" in shell("ingest", "--encoding", "koi8-r", "odd.txt").text
    assert shell("show", "odd.txt", "--text").text == "ЪЪ"
    assert "1 updated" in shell("ingest", "--encoding", "keep", "odd.txt").text


@pytest.mark.slow
def test_query_and_check_tell_on_standard_error_and_in_the_report(shell: Shell) -> None:
    shell("ingest", "--passages", "utf8.txt")
    done = shell("query", "--format", "jsonl", "a.txt")
    assert TOLD in done.errors
    decoding = {"encoding": "gb18030", "is_detected": True, "replaced_bytes": 0}
    (sample,) = shell.json_lines("query", "--format", "jsonl", "a.txt")
    assert sample["decoding"] == decoding
    done = shell("check", "a.txt")
    assert TOLD in done.errors
    (paper,) = shell.json_lines("check", "--format", "jsonl", "a.txt")
    assert paper["decoding"] == decoding
    shell("check", "-o", "report.html", "a.txt")
    assert "read as GB18030, which was detected" in (shell.folder / "report.html").read_text()
    for command in ("query", "check"):
        assert "decoded" not in shell(command, "utf8.txt").errors
        assert "not UTF-8" in shell(command, "odd.txt", code=5).errors
