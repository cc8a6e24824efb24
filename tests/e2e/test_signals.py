"""Ctrl-C and a polite kill: they stop at a boundary, say what is committed, and how to go on."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
from contextlib import closing
from pathlib import Path

import pytest
from forked import Child, Nursery

from simstore import Store
from simstore.cli.interrupts import INTERRUPTED, interruptible, uninterruptible
from simstore.services.ingest.ingest import IngestOptions
from simstore.services.maintenance.scheme_choice import SchemeChoice

from . import corpora
from .processes import until
from .states import assert_sound, committed, state_of

BATCH = 1_000


def test_signal_stops_an_ingest_at_a_batch_and_the_same_command_finishes(
    nursery: Nursery, tmp_path: Path
) -> None:
    pages = corpora.pages(11, 3_000)
    source = corpora.article_file(tmp_path / "article.txt", pages)
    samples = corpora.samples(11, pages)
    with Store.create(tmp_path / "clean.db") as store:
        store.ingest([str(source)])
    path = tmp_path / "store.db"
    words = ["ingest", "--db", str(path), str(source)]
    child = nursery.start("simstore", tmp_path, words=words, commit_seconds=0.0)
    until(lambda: path.exists() and committed(path), "a first commit")
    child.signal(signal.SIGTERM)
    done = child.wait()
    assert done.code == 143, done.errors
    position = committed(path)
    assert 0 < position < len(pages)
    assert position % BATCH == 0
    with Store.open(path) as store:
        assert {one.key: one.text for one in store.list(with_text=True)} == dict(pages[:position])
    assert_sound(path)
    assert " added, " in done.text
    assert "took its place (first keys: page-" in done.errors
    assert "Traceback" not in done.errors
    assert "same command" in done.errors
    assert "committed" in done.errors
    again = nursery.simstore(tmp_path, *words)
    assert again.code == 0
    assert f"went on after record {position}" in again.errors
    assert_sound(path)
    assert state_of(path, samples) == state_of(tmp_path / "clean.db", samples)


def waiting_for_input(nursery: Nursery, folder: Path, *words: str) -> tuple[Child, int]:
    """Start a command that has read all of its standard input, which is not at its end."""
    reading, writing = os.pipe()
    child = nursery.start("simstore", folder, words=list(words), stdin=reading)
    os.write(writing, b"one\nThe first words of a page that goes on")
    until(lambda: not _unread(reading) and _is_asleep(child), "the command to wait")
    os.close(reading)
    return child, writing


def _is_asleep(child: Child) -> bool:
    """Whether it waits in the kernel, where a signal wakes it; a moment earlier none would."""
    status = Path(f"/proc/{child.pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "S"


def _unread(descriptor: int) -> int:
    size: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0]
    return size


def test_second_signal_stops_an_ingest_that_waits_for_its_input(
    nursery: Nursery, tmp_path: Path
) -> None:
    child, writing = waiting_for_input(nursery, tmp_path, "ingest", "--as", "articles", "-")
    child.signal(signal.SIGINT)
    until(
        lambda: "once more" in child.error_text() and _is_asleep(child),
        "the first signal's message",
    )
    child.signal(signal.SIGINT)
    done = child.wait()
    os.close(writing)
    assert done.code == 130, done.errors
    assert "Traceback" not in done.errors
    assert_sound(tmp_path / "simstore.db")


def _children(pid: int) -> list[int]:
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(number) for file in files for number in file.read_text().split()]


def test_interrupted_query_ends_its_worker_processes(nursery: Nursery, tmp_path: Path) -> None:
    Store.create(tmp_path / "simstore.db").close()
    reading, writing = os.pipe()
    words = ["query", "--threads", "3", "--as", "articles", "-"]
    child = nursery.start("simstore", tmp_path, words=words, stdin=reading)
    # More than are answered before others are started; the input does not end.
    samples = b"".join(b"%d\na sample of a few words\f" % place for place in range(3_000))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(samples)
        pipe.flush()
        workers = until(lambda: len(found := _children(child.pid)) == 2 and found, "two workers")
        until(lambda: not _unread(reading) and _is_asleep(child), "the command to wait")
        child.signal(signal.SIGTERM)
        done = child.wait()
    os.close(reading)
    assert (done.code, done.out) == (143, b""), done.errors
    assert "Traceback" not in done.errors
    until(lambda: not any(Path(f"/proc/{each}").exists() for each in workers), "their end")


def test_interrupted_query_ends_the_workers_that_it_has_started_at_once(
    nursery: Nursery, tmp_path: Path
) -> None:
    Store.create(tmp_path / "simstore.db").close()
    # So much that two workers are started before the first sample is read.
    sample = "a sample of many words " * 400
    lines = (json.dumps({"key": f"{place}", "text": sample}) for place in range(1_000))
    (tmp_path / "samples.jsonl").write_text("\n".join(lines))
    os.mkfifo(tmp_path / "endless.jsonl")
    words = ["query", "--threads", "3", "samples.jsonl", "endless.jsonl"]
    child = nursery.start("simstore", tmp_path, words=words)
    with (tmp_path / "endless.jsonl").open("wb"):
        workers = until(lambda: len(found := _children(child.pid)) == 2 and found, "two workers")
        child.signal(signal.SIGINT)
        done = child.wait()
    assert (done.code, done.out) == (130, b""), done.errors
    assert "Traceback" not in done.errors
    until(lambda: not any(Path(f"/proc/{each}").exists() for each in workers), "their end")


@pytest.mark.parametrize(
    ("words", "again", "table"),
    [
        (["vocabulary", "refresh"], ["vocabulary", "refresh"], "generation"),
        (["reindex", "--scheme", "web"], ["reindex", "--resume"], "scheme"),
    ],
    ids=["refresh", "reindex"],
)
def test_interrupted_rebuild_exits_with_130_and_is_finished_later(
    nursery: Nursery, tmp_path: Path, words: list[str], again: list[str], table: str
) -> None:
    pages = corpora.pages(12, 200)
    source = corpora.article_file(tmp_path / "article.txt", pages)
    path = tmp_path / "simstore.db"
    with Store.create(path, scheme=SchemeChoice("simtool", features=80)) as store:
        store.ingest([str(source)], options=IngestOptions(refresh=False))
    child = nursery.start("simstore", tmp_path, words=words, batch_documents=1)

    def is_under_way() -> bool:
        with closing(sqlite3.connect(path)) as connection:
            statement = f"SELECT count(*) FROM {table} WHERE status = 'building'"
            return bool(connection.execute(statement).fetchone()[0])

    until(is_under_way, "the rebuild to begin")
    child.signal(signal.SIGINT)
    done = child.wait()
    assert done.code == 130, done.errors
    assert done.out == b""
    assert "Traceback" not in done.errors
    assert len(done.error_lines) <= 1
    assert is_under_way()
    assert_sound(path)
    finished = nursery.simstore(tmp_path, *again)
    assert finished.code == 0, finished.errors
    assert not is_under_way()
    assert_sound(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["query", "pipe"],
        ["seen", "--keys-from", "pipe"],
        ["init", "--db", "new.db", "--stopwords", "pipe"],
        ["export", "--output", "pipe"],
    ],
    ids=" ".join,
)
def test_signal_ends_a_command_that_waits_for_a_pipe(
    nursery: Nursery, tmp_path: Path, words: list[str]
) -> None:
    assert nursery.simstore(tmp_path, "init").code == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    other = os.O_RDONLY if words[0] == "export" else os.O_WRONLY
    child = nursery.start("simstore", tmp_path, words=words)
    if other == os.O_RDONLY:
        # Opening it to write waits for who reads.
        until(lambda: _is_asleep(child) and _waits_to_open(child), "the command to wait")
    else:
        opened = until(lambda: _opened(pipe), "the command to open the pipe")
        until(lambda: _is_asleep(child), "the command to wait")
    child.signal(signal.SIGTERM)
    done = child.wait()
    if other == os.O_WRONLY:
        os.close(opened)
    assert done.code == 143, done.errors
    assert "Traceback" not in done.errors
    assert done.error_lines == [f"Error: {INTERRUPTED}"]


def _opened(pipe: Path) -> int | None:
    """Return a descriptor of a pipe that another process reads."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def _waits_to_open(child: Child) -> bool:
    return "wait_for_partner" in Path(f"/proc/{child.pid}/wchan").read_text()


@pytest.mark.slow
def test_signal_ends_a_command_in_the_middle_of_an_endless_statement() -> None:
    program = (
        "import sqlite3\n"
        "from simstore.cli.interrupts import interruptible\n"
        "with interruptible():\n"
        "    print('began', flush=True)\n"
        "    sqlite3.connect(':memory:').execute('WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL '\n"
        "        'SELECT x + 1 FROM n) SELECT count(*) FROM n').fetchone()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as endless:
        assert endless.stdout is not None
        assert endless.stdout.readline() == b"began\n"
        began = _processor_ticks(endless.pid)
        until(lambda: _processor_ticks(endless.pid) > began + 10, "the statement")
        endless.send_signal(signal.SIGINT)
        try:
            _, errors = endless.communicate(timeout=60)
        finally:
            endless.kill()
    assert endless.returncode == 130
    assert errors.decode() == f"Error: {INTERRUPTED}\n"


def _processor_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_signal_that_is_ignored_stays_ignored(nursery: Nursery, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable, "-c",
            "import os, signal\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "from simstore.cli.interrupts import interruptible\n"
            "with interruptible():\n"
            "    os.kill(os.getpid(), signal.SIGTERM)\n"
            "    print('goes on')\n",
        ],
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == b"goes on\n"


def test_handlers_are_left_as_they_were() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    threads = threading.active_count()
    with interruptible():
        ours = signal.getsignal(signal.SIGTERM)
        assert ours not in before
        with uninterruptible():
            assert threading.active_count() == threads
            assert signal.getsignal(signal.SIGTERM) == before[1]
        assert signal.getsignal(signal.SIGTERM) not in before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert threading.active_count() == threads


def test_reader_that_goes_away_is_no_error(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "simstore.db"
    with Store.create(path) as store:
        store.add_many((f"key-{number:05d}", f"text {number}") for number in range(3_000))
    child = nursery.start(
        "simstore_into_closed_pipe", tmp_path, words=["list", "--format", "jsonl"]
    )
    done = child.wait()
    assert done.errors == ""
    assert done.code == 0
