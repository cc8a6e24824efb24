"""Tables fit a terminal: numbers whole, columns by priority, texts cut last; a file gets all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from simstore.cli import runs, tables

COLUMNS = ("key", "bytes", "share", "when", "note", "of")
ROWS = [
    ("https://example.org/a/very/long/path/of/a/page", 1_234_567, "~0.913", None, "", "x.jsonl"),
    ("海港新闻/黎明时分港口十分安静第一批船随潮水驶入", 12, "1.000", None, "", "y.jsonl"),
]
DROP = ("of", "share", "note", "when")
Printed = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    told: list[str] = []
    monkeypatch.setattr(tables.log, "info", lambda form, *words: told.append(form % words))
    monkeypatch.setenv("TERM", "xterm")

    def run(columns: int | None, drop: tuple[str, ...] = DROP) -> tuple[list[str], list[str]]:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: columns is not None, raising=False)
        size = os.terminal_size((columns or 1, 24))
        monkeypatch.setattr(tables, "get_terminal_size", lambda: size)
        tables.print_table(COLUMNS, ROWS, drop=drop)
        return capsys.readouterr().out.splitlines(), told

    return run


def plain(line: str) -> str:
    return line.replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_a_file_gets_all_of_it(printed: Printed) -> None:
    lines, told = printed(None)
    assert lines[0].split() == list(COLUMNS)
    assert all(
        row[0] in line and str(row[5]) in line for row, line in zip(ROWS, lines[1:], strict=True)
    )
    assert told == []
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("columns", [200, 120, 80, 60, 50])
def test_a_terminal_gets_what_fits_and_numbers_are_whole(printed: Printed, columns: int) -> None:
    lines, told = printed(columns)
    assert max(cell_len(plain(line)) for line in lines) <= columns
    assert "1,234,567" in lines[1]
    left_out = [name for name in COLUMNS if name not in plain(lines[0]).split()]
    assert bool(left_out) == any("left out" in one for one in told)
    assert all(name in told[0] for name in left_out)


def test_what_says_nothing_goes_first_then_what_is_named_first(printed: Printed) -> None:
    lines, told = printed(80)
    assert plain(lines[0]).split() == ["key", "bytes", "share", "of"]
    assert told == ["left out: note, when, to fit 80 columns; --format csv has all"]
    lines, _ = printed(68)
    assert plain(lines[0]).split() == ["key", "bytes", "share"]


def test_texts_are_cut_in_their_middle_where_no_column_may_go(printed: Printed) -> None:
    lines, told = printed(60, ())
    assert plain(lines[0]).split() == list(COLUMNS)
    assert "\u2026" in lines[1]
    assert lines[1].startswith("https://")
    assert "~0.913" in lines[1]
    assert told == ["long texts are cut, to fit 60 columns; --format csv has all"]


def shown(
    columns: tuple[str, ...],
    rows: list[tuple[object, ...]],
    drop: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> list[str]:
    """Return the lines of a table on a terminal of 80 columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(tables, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    tables.print_table(columns, rows, drop=drop)
    lines = [plain(line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(cell_len, lines)) <= 80
    return lines


def test_long_keys_get_more_room_than_the_figures_beside_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ("key", "fingerprint", "bytes", "first seen")
    figures = ("1017acc3a33610bc", 1_234_567, "2026-11-24 18:27:36 UTC")
    rows = [(f"https://example.org/{'deep/' * 30}{n}", *figures) for n in range(3)]
    drop = ("bytes", "first seen", "fingerprint")
    header, *lines = shown(columns, rows, drop, capsys, monkeypatch)
    assert "bytes" not in header
    assert all(len(line.split()[0]) >= 35 for line in lines)


def test_runs_tell_what_became_of_documents_before_how_long_it_took(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        "run", "kind", "started", "took", "state", "added", "updated", "unchanged", "flagged",
        "skipped", "duplicates", "rejected", "removed", "passed over", "of",
    )  # fmt: skip
    counts = (2, 0, 5, 3, 0, 1, 0, 0, 4)
    started = "2026-11-24 18:27:36 UTC"
    rows = [(n, "ingest", started, "0:00:01", "finished", *counts, "a.jsonl") for n in range(1, 30)]
    header = shown(columns, rows, runs._DROP, capsys, monkeypatch)[0].split()
    assert header == ["run", "started", "state", "added", "unchanged", "flagged", "of"]


ENGLISH = "The river rises in the hills behind the old quarry and falls slowly to the sea. " * 9
CHINESE = (
    "\u6e2f\u53e3\u5341\u5206\u5b89\u9759\uff0c\u7b2c\u4e00\u6279\u8239\u968f\u6f6e\u6c34\u9a76\u5165\u3002"
    * 20
)


@pytest.mark.parametrize(
    "text", [ENGLISH, CHINESE, "x" * 900], ids=["words", "Chinese", "one word"]
)
@pytest.mark.parametrize("columns", [80, 40])
def test_a_long_text_stands_below_its_row_with_its_beginning_and_its_end(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    columns: int,
) -> None:
    text = text.strip()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(tables, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
    rows = [("a", 1, text), ("b", 2, "short")]
    tables.print_table(("key", "bytes", "text"), rows, below="text")
    lines = [plain(line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(cell_len, lines)) <= columns
    assert [line.split() for line in lines[:2]] == [["key", "bytes"], ["a", "1"]]
    *beginning, end = (line.removeprefix("    ") for line in lines[2:5])
    assert text.replace(" ", "").startswith("".join(beginning).replace(" ", ""))
    assert end.startswith("\u2026 ")
    assert text.endswith(end[2:])
    assert all(cell_len(line) > columns - 16 or text[0] == "x" for line in lines[2:5])
    # Marks that close a sentence never begin a line.
    assert not any(line.strip()[0] in "\uff0c\u3002" for line in lines[2:5])
    assert [line.split() for line in lines[5:]] == [["b", "2"], ["short"]]


def test_a_text_stays_in_its_row_where_there_is_room_and_in_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    for is_terminal, text in ((True, "a short one"), (False, ENGLISH.strip())):
        monkeypatch.setattr(sys.stdout, "isatty", lambda shown=is_terminal: shown, raising=False)
        tables.print_table(("key", "text"), [("a", text)], below="text")
        lines = [plain(line) for line in capsys.readouterr().out.splitlines()]
        assert [line.split(maxsplit=1) for line in lines] == [["key", "text"], ["a", text]]


def test_columns_of_wide_characters_stand_below_each_other(printed: Printed) -> None:
    lines, _ = printed(None)
    ends = [cell_len(line[: line.index(number) + len(number)]) for line, number in (
        (lines[1], "1,234,567"), (lines[2], " 12 "[:3]),
    )]  # fmt: skip
    assert ends[0] == ends[1]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_style_is_left_out_where_it_is_not_wanted(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed(200)[0][0].startswith("\x1b[1m")
    monkeypatch.setenv(name, value)
    assert "\x1b" not in printed(200)[0][0]
