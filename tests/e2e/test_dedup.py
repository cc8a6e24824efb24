"""``simstore dedup`` as people run it: killed, out of room, in a pipe, with a store."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import Nursery

from .shells import Shell

REPOSITORY = Path(__file__).resolve().parents[2]
# Ends the process at the n-th time that a row of the input is noted, stored or written.
KILLED = """
import os, signal, sys
from simstore import outputs
from simstore.rows.lines import LineWriter
from simstore.services.dedup import stored_rows
from simstore.services.dedup.work_files import WorkFiles
left = int(sys.argv.pop(1))
def killed(owner, name):
    real = getattr(owner, name)
    def step(*arguments, **named):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(owner, name, step)
killed(WorkFiles, "append")
killed(stored_rows, "ingest_documents")
killed(LineWriter, "write")
killed(outputs, "publish")
from simstore.cli import main
main()
"""


def _rows(count: int) -> list[bytes]:
    rng = random.Random(7)
    words = [f"word{n}" for n in range(2_000)]
    texts = [" ".join(rng.choices(words, k=60)) for _ in range(count)]
    for place in range(4, count, 5):
        texts[place] = texts[rng.randrange(place)].replace("word1", "word2", 1)
    return [
        json.dumps({"id": n, "price": 2.5, "text": text}).encode() + b"\n"
        for n, text in enumerate(texts)
    ]


@pytest.fixture
def shell(nursery: Nursery, tmp_path: Path) -> Shell:
    (tmp_path / "rows.jsonl").write_bytes(b"".join(_rows(1_500)))
    return Shell(nursery, tmp_path)


def test_rows_of_one_template_are_dropped_with_a_warning(shell: Shell) -> None:
    template = " ".join(f"word{n}" for n in range(60))
    rows = [json.dumps({"id": n, "text": f"{template} question{n}"}) for n in range(12)]
    (shell.folder / "chats.jsonl").write_text("\n".join(rows))
    (shell.folder / "copies.jsonl").write_text("\n".join(rows[:1] * 12))
    warning = "11 of 12 rows are near-duplicates of one text and differ from it: if they share a"
    for option in ((), ("--mark",), ("--db", "s.db")):
        done = shell("dedup", "chats.jsonl", "-o", f"o{''.join(option[:1])}.jsonl", *option)
        assert warning in done.errors, option
    assert shell("dedup", "copies.jsonl", "-o", "one.jsonl").errors == ""
    assert (
        "12 of 12 rows are near"
        not in shell(
            "filter", "chats.jsonl", "--db", "s.db", "--keep", "known", "-o", "all.jsonl"
        ).errors
    )


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_killed_run_leaves_the_output_as_it_was_and_loses_no_row(shell: Shell) -> None:
    (shell.folder / "rows.jsonl").write_bytes(b"".join(_rows(9_000)))
    shell("dedup", "rows.jsonl", "-o", "whole.jsonl")
    whole = (shell.folder / "whole.jsonl").read_bytes()
    assert len(whole.splitlines()) < 9_000
    # A signal while rows are noted, stored, written and published.
    for after in (6, 13, 18):
        output = f"{after}.jsonl"
        (shell.folder / output).write_bytes(b"an earlier output")
        store = ["--db", f"{after}.db"]
        words = [*store, "dedup", "rows.jsonl", "-o", output, "--force"]
        shell("init", *store)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(after), *words],
            cwd=shell.folder, check=False, capture_output=True,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, (after, done.stderr)
        assert (shell.folder / output).read_bytes() == b"an earlier output"
        drafts = [path.name for path in shell.folder.glob(".*.new")]
        assert len(drafts) <= 1, after
        shell(*words)
        assert (shell.folder / output).read_bytes() == whole, after
        assert not list(shell.folder.glob(".*.new")), after


@pytest.mark.slow
def test_rows_go_through_a_pipe(shell: Shell) -> None:
    shell("dedup", "rows.jsonl", "-o", "out.jsonl")
    packed = gzip.compress((shell.folder / "rows.jsonl").read_bytes())
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "cli.py"), "dedup", "-", "-o", "-"],
        cwd=shell.folder, input=packed, check=True, capture_output=True,
    )  # fmt: skip
    assert done.stdout == (shell.folder / "out.jsonl").read_bytes()
    assert b"1,500 rows" in done.stderr
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out.jsonl", "rows.jsonl"]


def test_what_cannot_be_done_is_refused_before_anything_is_read(shell: Shell) -> None:
    (shell.folder / "there.jsonl").write_text("mine")
    (shell.folder / "a.csv").write_text("id,text\n1,Rye\n")
    (shell.folder / "t.txt").write_text("id,text\n1,Rye\n")
    (shell.folder / "a.warc").write_text("WARC/1.0\r\n\r\n")
    (shell.folder / "c.csv").write_text("id;story\n1;Rye\n")
    before = sorted(shell.folder.iterdir())
    for code, words, reason in (
        (4, ("rows.jsonl", "-o", "there.jsonl"), "there.jsonl"),
        (2, ("rows.jsonl", "a.csv", "-o", "o.jsonl"), "name a folder"),
        (2, ("a.warc", "-o", "o.warc"), "`simstore ingest` reads it"),
        (2, ("rows.jsonl", "-o", "o.jsonl", "--db", "s.db", "--policy", "longest"), "a store"),
        (3, ("nothing.jsonl", "-o", "o.jsonl"), "nothing.jsonl"),
        (2, ("c.csv", "-o", "o.csv", "--db", "s.db"), "(--text-field names the text)"),
        (2, ("t.txt", "-o", "new.csv"), "name one, as new/"),
        (2, ("t.txt", "-o", "o/", "--text-field", "text"), "--text-field: --as csv or --as jsonl"),
        (6, ("rows.jsonl", "-o", "no/such/o.jsonl"), "there is no folder no/such"),
        (6, ("rows.jsonl", "-o", "o.jsonl", "--log", "no/log"), "there is no folder no"),
    ):
        done = shell("dedup", *words, code=code)
        assert reason in done.errors
    assert (shell.folder / "there.jsonl").read_text() == "mine"
    assert sorted(shell.folder.iterdir()) == before


def test_a_log_takes_no_place_of_an_input_or_of_another_output(shell: Shell) -> None:
    (shell.folder / "a.jsonl").write_text('{"id": 1, "text": "Rye bread needs sour dough."}\n')
    (shell.folder / "in").mkdir()
    for name in ("x.jsonl", "y.jsonl"):
        (shell.folder / "in" / name).write_text('{"id": 1, "text": "Oats need rain and wind."}\n')
    os.link(shell.folder / "a.jsonl", shell.folder / "hard.jsonl")
    (shell.folder / "form.html").write_text("Name, date and place of the course.")
    shell("init", "--db", "s.db")
    before = _contents(shell.folder)
    one = "are one file: give each a name"
    of_log = "is an input; name another file for the log"
    gates = (("filter", "--db", "s.db"), ("decontaminate", "--against", "rows.jsonl"))
    for command, *given in (("dedup",), *gates):
        for words, reason in (
            (("a.jsonl", "-o", "o.jsonl", "--log", "./o.jsonl"), f"the output and the log {one}"),
            (("a.jsonl", "-o", "-", "--log", "-"), f"the output and the log {one}"),
            (("a.jsonl", "-o", "o.jsonl", "--log", "a.jsonl", "--force"), of_log),
            (("a.jsonl", "-o", "o.jsonl", "--log", "hard.jsonl", "--force"), of_log),
            (("in", "-o", "o.jsonl", "--log", "in/x.jsonl", "--force"), of_log),
            (("a.jsonl", "-o", "o.jsonl", "--rejects", "a.jsonl", "--force"), "for the rejects"),
        ):
            assert reason in shell(command, *words, *given, code=2).errors
    check = ("--db", "s.db", "check", "a.jsonl", "--template", "form.html", "-o", "form.html")
    assert "is an input" in shell(*check, "--force", code=2).errors
    assert _contents(shell.folder) == before


def _contents(folder: Path) -> dict[Path, bytes]:
    # A store that was only read leaves journals.
    files = (path for path in folder.rglob("*") if path.is_file() and "s.db-" not in path.name)
    return {path: path.read_bytes() for path in files}


@pytest.mark.sqlite("the store is a file beside the rows")
def test_a_store_is_used_where_an_option_names_it_before_or_behind_the_command(
    shell: Shell,
) -> None:
    (shell.folder / "a.jsonl").write_text('{"id": 1, "text": "Rye bread needs sour dough."}\n')
    for number, words in enumerate(
        (
            ("--db", "seen.db", "dedup", "a.jsonl", "-o", "0.jsonl"),
            ("dedup", "a.jsonl", "-o", "1.jsonl", "--db", "seen.db"),
        )
    ):
        assert f"{1 - number} kept" in shell(*words).text
    named = {**os.environ, "SIMSTORE_DB": "other.db"}
    assert "1 kept" in shell("dedup", "a.jsonl", "-o", "2.jsonl", environment=named).text
    assert not (shell.folder / "other.db").exists()


def test_a_table_on_standard_input_that_is_taken_as_a_text_is_told(shell: Shell) -> None:
    told = "-: taken as one text; --as csv takes its lines as rows"
    for text in ("id;story\n1;Rye\n2;Oats\n", "Rye, oats, barley.\nWheat, millet, spelt.\n"):
        done = shell("dedup", "-", "-o", "-", stdin=text.encode())
        assert done.text == text
        assert (told in done.errors) == (";" in text)


@pytest.mark.slow
def test_a_reader_that_leaves_ends_a_run_quietly_and_no_room_is_told(shell: Shell) -> None:
    program = f"{sys.executable} {REPOSITORY / 'cli.py'} dedup rows.jsonl -o -"
    for command, code, told in (
        (f"{program} | head -c 10 > head; exit ${{PIPESTATUS[0]}}", (0, 141), ""),
        (f"{program} > /dev/full", (6,), "no space left to write the results"),
    ):
        done = subprocess.run(
            ["bash", "-c", command], cwd=shell.folder, check=False, capture_output=True, text=True
        )
        assert done.returncode in code, done.stderr
        assert told in done.stderr
        assert "cannot be written" not in done.stderr
        assert "Traceback" not in done.stderr
    assert (shell.folder / "head").stat().st_size == 10
