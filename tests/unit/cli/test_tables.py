"""Tables: a file gets all of them, a terminal what its width holds, numbers whole."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from simstore.cli import tables

COLUMNS = ("key", "bytes", "share", "when", "of")
ROWS = [
    ("https://example.org/a/very/long/path/of/a/page", 1_234_567, "~0.913", None, "x.jsonl"),
    ("海港新闻/黎明时分港口十分安静第一批船随潮水驶入", 12, "1.000", None, "y.jsonl"),
]
Printed = Callable[..., list[str]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(width: int | None, rows: list[tuple[object, ...]] = ROWS) -> list[str]:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: width is not None, raising=False)
        monkeypatch.setenv("COLUMNS", str(width or 1))
        tables.print_table(COLUMNS, rows)
        return capsys.readouterr().out.splitlines()

    return run


def plain(line: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", line)


def test_a_file_gets_all_of_it(printed: Printed) -> None:
    lines = printed(None)
    assert lines[0].split() == list(COLUMNS)
    assert all(
        row[0] in line and str(row[4]) in line for row, line in zip(ROWS, lines[1:], strict=True)
    )
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [200, 80, 50])
def test_a_terminal_gets_texts_folded_and_numbers_whole(printed: Printed, width: int) -> None:
    lines = list(map(plain, printed(width)))
    assert max(map(cell_len, lines)) <= width
    assert ("when" in lines[0]) == (width == 200)
    assert "1,234,567  ~0.913" in lines[1]
    # The key is there whole, in as many lines as it needs.
    end = lines[1].index("1,234,567")
    assert ROWS[0][0] in "".join(line[:end].strip() for line in lines)


def test_a_long_text_is_cut_in_its_middle_on_a_terminal(printed: Printed) -> None:
    rows: list[tuple[object, ...]] = [("begin " + "x " * 500 + "end", 1, "", "", "")]
    shown = " ".join(" ".join(map(plain, printed(60, rows)[1:])).split())
    assert shown.startswith("begin")
    assert "end" in shown
    assert "\u2026" in shown
    assert "\u2026" not in "".join(printed(None, rows))


def test_names_are_bold_unless_that_is_declined(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b[1m" in printed(200)[0]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in printed(200)[0]
