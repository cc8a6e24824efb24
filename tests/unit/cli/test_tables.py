"""Tables fit a terminal: numbers whole, columns by priority, texts cut last; a file gets all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from simstore import Store
from simstore.cli import main, tables

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


@pytest.mark.parametrize("columns", [200, 60])
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
    lines, _ = printed(60)
    assert plain(lines[0]).split() == ["key", "bytes", "share", "of"]
    assert "\u2026" in lines[1]
    lines, _ = printed(40)
    assert plain(lines[0]).split() == ["key", "bytes"]


@pytest.mark.parametrize("key", ["k", "https://example.org/a/very/long/path/of/a/page"])
def test_wider_terminal_never_shows_fewer_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    columns = ("key", "state", "original", "distance", "basis", "first seen")
    rows = [(key, "flagged", f"{key}/original", 3, "text", "2026-11-28 06:00 UTC")]
    before: set[str] = set()
    for width in range(30, 200):
        size = os.terminal_size((width, 24))
        monkeypatch.setattr(tables, "get_terminal_size", lambda size=size: size)
        tables.print_table(columns, rows, drop=("first seen", "basis", "distance", "state"))
        header = plain(capsys.readouterr().out.splitlines()[0])
        shown = {name for name in columns if name in header}
        assert before <= shown, width
        before = shown
    assert before == set(columns)


def test_texts_are_cut_in_their_middle_where_no_column_may_go(printed: Printed) -> None:
    lines, told = printed(60, ())
    assert plain(lines[0]).split() == list(COLUMNS)
    assert "\u2026" in lines[1]
    assert lines[1].startswith("https://")
    assert "~0.913" in lines[1]
    assert told == ["long texts are cut, to fit 60 columns; --format csv has all"]


ENGLISH = "The river rises in the hills behind the old quarry and falls slowly to the sea. " * 9
CHINESE = (
    "\u6e2f\u53e3\u5341\u5206\u5b89\u9759\uff0c\u7b2c\u4e00\u6279\u8239\u968f\u6f6e\u6c34\u9a76\u5165\u3002"
    * 20
)


@pytest.mark.parametrize(("text", "columns"), [(ENGLISH, 80), (CHINESE, 40), ("x" * 900, 40)])
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


def test_style_is_left_out_where_it_is_not_wanted(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = ("NO_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed(200)[0][0].startswith("\x1b[1m")
    monkeypatch.setenv(name, value)
    assert "\x1b" not in printed(200)[0][0]


def test_runs_show_their_outcomes_on_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(tmp_path / "s.db", on_duplicate="skip") as store:
        store.add_many({"a": f"{ENGLISH}", "b": ENGLISH, "c": "Rye."})
        store.add_many({"c": "Rye bread."})
        store.add_many({"c": "Rye bread."})
        store.remove(["c"])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(tables, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    main(["--db", str(tmp_path / "s.db"), "runs"], standalone_mode=False)
    header = plain(capsys.readouterr().out.splitlines()[0]).split()
    wanted = {"run", "kind", "added", "updated", "unchanged", "skipped", "removed"}
    assert wanted <= set(header)
