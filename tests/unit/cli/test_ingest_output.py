"""Progress of an ingest in lines."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from simstore.cli import ingest_output, main
from simstore.cli.ingest_output import ProgressLines, stop_on_signal
from simstore.model import IngestProgress


def test_line_is_said_every_ten_seconds_with_rate_and_time_left() -> None:
    now = 100.0
    said: list[str] = []
    lines = ProgressLines(lambda: now, said.append)
    for second in range(0, 35, 5):
        now = 100.0 + second
        lines.show(IngestProgress("a.jsonl", second * 2_000_000, 400_000_000, second * 50, second))
    assert said == [
        "ingest: 20.0 MB of 400.0 MB (5 %), 2.0 MB/s, 500 documents, 50/s, 10 rejected, "
        "0:03:10 left",
        "ingest: 40.0 MB of 400.0 MB (10 %), 2.0 MB/s, 1,000 documents, 50/s, 20 rejected, "
        "0:03:00 left",
        "ingest: 60.0 MB of 400.0 MB (15 %), 2.0 MB/s, 1,500 documents, 50/s, 30 rejected, "
        "0:02:50 left",
    ]


def test_html_in_records_is_reported_with_the_count(tmp_path: Path) -> None:
    source = tmp_path / "pages.csv"
    source.write_text("id,text\na,<p>one</p>\nb,two\nc,<li>three</li>\n", "utf-8")
    done = CliRunner().invoke(main, ["--db", str(tmp_path / "s.db"), "ingest", str(source)])
    assert "2 texts hold HTML, and it is stored as it is" in done.stderr


def test_without_a_terminal_progress_comes_as_log_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_output, "_SECONDS_BETWEEN_LINES", 0.0)
    source = tmp_path / "pages.jsonl"
    source.write_text('{"key": "a", "text": "one"}\nbroken\n', "utf-8")
    done = CliRunner().invoke(main, ["--db", str(tmp_path / "s.db"), "ingest", str(source)])
    assert done.exit_code == 5
    assert done.stdout == "1 added, 0 updated, 0 unchanged, 0 exact duplicates, 1 rejected\n"
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ingest:")]
    assert re.fullmatch(
        r"ingest: 0\.0 MB of 0\.0 MB \(100 %\), [\d.]+ MB/s, 1 document, [\d,]+/s, 1 rejected, "
        r"0:00:00 left",
        line,
    )


def test_a_timer_of_the_caller_runs_on() -> None:
    # Tests have such a timer (pytest-timeout), which an ingest in the same process must not stop.
    signal.setitimer(signal.ITIMER_REAL, 60)
    handler = signal.getsignal(signal.SIGALRM)
    with stop_on_signal():
        assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
