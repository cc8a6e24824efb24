"""The log that is written in a thread: in order, whole, and never waited for."""

from __future__ import annotations

import logging
import threading

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
