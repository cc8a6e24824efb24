"""The log that is written in a thread: in order, whole, and never waited for."""

from __future__ import annotations

import io
import logging
import threading
import time

import pytest

from simstore.server import background_log
from simstore.server.background_log import BackgroundHandler


def record(text: str) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": text, "levelname": "INFO"})


def test_lines_are_written_in_order_until_it_is_settled() -> None:
    written: list[bytes] = []
    made = BackgroundHandler(logging.StreamHandler(), written.append)
    for number in range(500):
        made.emit(record(f"line {number}"))
    made.settle()
    assert written == [b"line %d\n" % number for number in range(500)]


def test_nobody_waits_where_nobody_reads_and_what_is_dropped_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_log, "_MOST_LINES", 5)
    written: list[bytes] = []
    reads = threading.Event()
    begun = threading.Event()

    def write(line: bytes) -> None:
        begun.set()
        assert reads.wait(60)
        written.append(line)

    made = BackgroundHandler(logging.StreamHandler(), write)
    made.emit(record("first"))
    assert begun.wait(60)
    for number in range(20):
        made.emit(record(f"line {number}"))
    made.settle(0.01)
    assert written == []
    reads.set()
    made.settle(60)
    assert written[0] == b"first\n"
    assert written[1] == b"15 lines of the log were dropped: standard error is read too slowly\n"
    assert written[2:] == [b"line %d\n" % number for number in range(5)]


def test_lines_that_cannot_be_written_are_told_when_others_can() -> None:
    error = OSError("no space left")
    written: list[bytes] = []
    fails = [True, True, False]

    def write(line: bytes) -> None:
        if fails and fails.pop(0):
            raise error
        written.append(line)

    made = BackgroundHandler(logging.StreamHandler(), write)
    for number in range(4):
        made.handle(record(f"line {number}"))
    made.settle(60)
    assert written == [
        b"line 2\n",
        f"2 lines of the log were dropped: standard error cannot be written ({error})\n".encode(),
        b"line 3\n",
    ]


def test_a_line_that_comes_after_the_end_is_written_at_once() -> None:
    written: list[bytes] = []
    after = io.StringIO()
    made = BackgroundHandler(logging.StreamHandler(after), written.append)
    made.handle(record("first"))
    made.settle(60)
    made.handle(record("late"))
    assert (written, after.getvalue()) == ([b"first\n"], "late\n")


def test_a_line_that_comes_after_the_end_waits_for_nobody() -> None:
    written: list[bytes] = []
    reads = threading.Event()

    def write(line: bytes) -> None:
        assert reads.wait(60)
        written.append(line)

    after = io.StringIO()
    made = BackgroundHandler(logging.StreamHandler(after), write)
    made.handle(record("first"))
    made.settle(0.01)
    made.handle(record("late"))
    assert (written, after.getvalue()) == ([], "")
    reads.set()
    made.settle(60)
    assert written == [
        b"first\n", b"1 line of the log was dropped: standard error is read too slowly\n",
    ]  # fmt: skip


def test_no_line_is_lost_that_threads_log_while_it_is_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_log, "_MOST_LINES", 50)
    written: list[bytes] = []
    after = io.StringIO()
    made = BackgroundHandler(logging.StreamHandler(after), written.append)
    begun = threading.Barrier(5)

    def emit_many() -> None:
        begun.wait(60)
        for number in range(2_000):
            made.handle(record(f"line {number}"))

    threads = [threading.Thread(target=emit_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    # Where they log more quickly than lines are written, nearly all may be dropped.
    while len(written) < 100 and any(thread.is_alive() for thread in threads):
        time.sleep(0)
    made.settle(60)
    for thread in threads:
        thread.join()
    lines = [line.split() for line in written]
    dropped = sum(int(line[0].replace(b",", b"")) for line in lines if b"dropped:" in line)
    kept = sum(line[0] == b"line" for line in lines)
    assert kept + dropped + len(after.getvalue().splitlines()) == 8_000
