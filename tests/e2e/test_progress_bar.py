"""The bar of ``ingest`` on a real terminal, and what comes where there is none."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .terminals import Terminal

# More than one transaction's.
DOCUMENTS = 9_000
REJECTED = 3
BAR = re.compile(
    r"ingest ━+╸?╺?━* +(?P<done>[\d.]+)/(?P<total>[\d.]+) (?P<unit>[kM]B) "
    r"(?P<rate>\?|[\d.,]+ [kM]?(B|bytes)/s) "
    r"(?P<documents>[\d,]+) documents(, (?P<rejected>\d+) rejected)? (?P<left>-:--:--|\d:\d\d:\d\d)"
)
SUMMARY = f"{DOCUMENTS:,} added, 0 updated, 0 unchanged, 0 exact duplicates, {REJECTED} rejected"

Run = Callable[..., Terminal]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Run a command on a terminal; it ends with the test at the latest."""
    begun: list[Terminal] = []

    def start(*words: str, **options: object) -> Terminal:
        begun.append(Terminal(tmp_path, *words, **options))  # type: ignore[arg-type]
        return begun[-1]

    yield start
    for terminal in begun:
        terminal.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    lines = [record(number) for number in range(DOCUMENTS)]
    for place in range(REJECTED):
        lines.insert(place * 100, "broken\n")
    path.write_text("".join(lines), "utf-8")
    return path


def record(number: int) -> str:
    text = " ".join(f"word{number * place % 9_973}" for place in range(1, 60))
    return json.dumps({"key": f"page {number}", "text": text}) + "\n"


def bars_of(terminal: Terminal) -> list[re.Match[str]]:
    """The bars that were shown, as a whole, one after the other."""
    found = (BAR.search(screen.rpartition("\n")[2]) for screen in terminal.screens)
    return [match for match in found if match]


@pytest.mark.slow
def test_bar_tells_bytes_rate_documents_rejects_and_time_left_and_is_taken_back(
    run: Run, source: Path
) -> None:
    terminal = run("--db", "s.db", "ingest", source.name)
    assert terminal.wait() == 5
    bars = bars_of(terminal)
    last = bars[-1]
    size = source.stat().st_size
    assert last["done"] == last["total"] == f"{size / 1e6:.1f}"
    assert (last["unit"], last["rate"].endswith("/s"), last["left"]) == ("MB", True, "0:00:00")
    assert (last["documents"], last["rejected"]) == (f"{DOCUMENTS:,}", str(REJECTED))
    counts = [int(bar["documents"].replace(",", "")) for bar in bars]
    assert counts == sorted(counts)
    # A bar is one line: it is taken back as a whole, and messages stay, in their order.
    reject = "rejected: pages.jsonl, record {} (byte {}): not JSON: Expecting value at column 1"
    lines = source.read_bytes().splitlines(keepends=True)
    assert terminal.screen.text.splitlines() == [
        "made s.db: scheme web/1, M = 64 (any language; `simstore init` chooses another)",
        *(reject.format(at, sum(map(len, lines[:at]))) for at in (0, 100, 200)),
        "`simstore rejects` shows what was rejected, and why",
    ]
    assert terminal.screen.cursor_is_shown
    assert terminal.out == f"{SUMMARY}\n"


@pytest.mark.slow
def test_bar_goes_when_the_run_is_interrupted(run: Run) -> None:
    terminal = run("--db", "s.db", "ingest", "--as", "jsonl", "-", stdin=True)
    # Enough that a transaction is written while more is waited for.
    terminal.feed("".join(map(record, range(4 * DOCUMENTS))).encode())
    terminal.read(until=lambda screen: re.search(r"\d documents", screen) is not None)
    terminal.process.send_signal(signal.SIGINT)
    terminal.read(until=lambda screen: "stopping at the end of this batch" in screen)
    # What it waits for: a batch that is full.
    terminal.feed("".join(map(record, range(4 * DOCUMENTS, 8 * DOCUMENTS))).encode(), ends=True)
    assert terminal.wait() == 128 + signal.SIGINT
    assert terminal.screen.cursor_is_shown
    stopping, end = terminal.screen.text.splitlines()[1:]
    assert stopping == "stopping at the end of this batch; once more stops at once"
    # Where it reads for longer than it may, what it reads is given up.
    assert end in (
        "interrupted; all of the above is committed: the same command again goes on",
        "Error: interrupted; what is committed stays, the same command again goes on",
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["quiet", "dumb", "json"])
def test_no_bar_where_it_is_not_wanted_or_cannot_be_taken_back(
    run: Run, source: Path, how: str
) -> None:
    words = {"quiet": ["-q"], "dumb": [], "json": ["--log-json"]}[how]
    terminal = run(
        "--db", "s.db", "ingest", *words, source.name, term="dumb" if how == "dumb" else "xterm"
    )
    assert terminal.wait() == 5
    assert "\x1b" not in terminal.sent
    assert "━" not in terminal.sent
    lines = terminal.sent.splitlines()
    assert len(lines) == {"quiet": 0, "dumb": 2 + REJECTED, "json": 2 + REJECTED}[how]
    if how == "json":
        assert [json.loads(line)["level"] for line in lines] == ["info", *["warning"] * 4]
    assert terminal.out == f"{SUMMARY}\n"
