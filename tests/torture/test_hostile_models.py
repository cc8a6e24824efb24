"""What is known of hostile files is right, and the campaign sees a reader that loses something."""

from __future__ import annotations

import csv
import gzip
import json
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from forked import Finished, Nursery

from . import hostile_records as records
from .health import Health, status_of
from .hostile_reading import Reading, Told, files, judged
from .hostile_texts import Hostile, damaged, odd

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
DONE = Finished(0, b"", b"")
# Modules that a process imports at its start, each with a fault.
SILENT_READER = """
import sys
sys.path[:0] = [{root!r}]
from simstore.model import Rejection
from simstore.sources import json_records

read = json_records.read_lines

def read_silently(*arguments, **options):
    for record in read(*arguments, **options):
        if not isinstance(record, Rejection):
            yield record

json_records.read_lines = read_silently
"""
SWALLOWED_ERROR = """
import sys
sys.path[:0] = [{root!r}]
from sqlalchemy.exc import OperationalError
from simstore.storage import runs

put = runs.put_rejections

def put_or_not(connection, run_id, rejections, rejected_at):
    try:
        if len(rejections) > 2:
            raise OperationalError("INSERT", {{}}, Exception("disk I/O error"))
        put(connection, run_id, rejections, rejected_at)
    except OperationalError:
        pass

runs.put_rejections = put_or_not
"""


def told(texts: dict[str, str], source: str, *reasons: str) -> Told:
    rejected = defaultdict(list, {source: list(reasons)} if reasons else {})
    return Told(texts, dict.fromkeys(texts, source), rejected)


def test_a_lost_a_changed_and_a_silent_record_are_seen() -> None:
    one = Hostile("a.jsonl", b"", "", {"a": "x"}, {}, count=2, is_wrong=True)
    assert list(judged(one, told({"a": "x"}, "a.jsonl", "no"), DONE)) == []
    assert list(judged(one, told({"a": "y"}, "a.jsonl", "no"), DONE))
    assert list(judged(one, told({}, "a.jsonl", "no", "no"), DONE))
    assert list(judged(one, told({"a": "x"}, "a.jsonl"), DONE))
    assert list(judged(one, told({"a": "x"}, "other.jsonl", "no"), DONE))
    one.weaken("damaged")
    assert list(judged(one, told({}, "a.jsonl", "no"), DONE)) == []
    assert list(judged(one, told({}, "a.jsonl"), DONE))
    one.forget("damaged")
    assert list(judged(one, told({}, "a.jsonl"), DONE)) == []


@pytest.mark.parametrize("seed", range(50))
def test_lines_that_are_sure_stand_in_their_file_as_another_reader_reads_it(seed: int) -> None:
    made = records.json_lines(Random(seed), "a.jsonl")
    found = set()
    for line in made.data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            values = [value for value in record.values() if isinstance(value, str)]
            found |= {(key, text) for key in values for text in values}
    assert made.sure.items() <= found


@pytest.mark.parametrize("seed", range(50))
def test_rows_that_are_sure_stand_in_their_file_as_another_reader_reads_it(seed: int) -> None:
    made = records.table(Random(seed), "a.tsv")
    lines = made.data.decode("utf-8-sig").split("\n")
    rows = [row for row in csv.reader([f"{line}\n" for line in lines], delimiter="\t") if row]
    found = {(key, text) for row in rows for key in row for text in row}
    assert made.sure.items() <= found
    assert made.is_wrong or made.count == len(rows) - 1


def test_a_seed_says_all_of_a_file() -> None:
    def first(seed: int) -> list[tuple[str, bytes, str]]:
        made: Iterator[Hostile] = files(Random(seed))
        return [(one.name, one.data, one.story) for _, one in zip(range(6), made, strict=False)]

    # A PDF and a gzip header may hold a time; these seeds have none.
    assert first(3) == first(3)
    assert first(3) != first(4)


@pytest.mark.parametrize("seed", range(200))
def test_what_is_damaged_is_other_bytes(seed: int) -> None:
    chance = Random(seed)
    data = gzip.compress(odd(chance).encode() * 3)
    other, how = damaged(chance, data)
    assert how
    # Zeros may be there already.
    assert other != data or "zeros" in how


@pytest.mark.parquet
@pytest.mark.parametrize("fault", [SILENT_READER, SWALLOWED_ERROR], ids=["reader", "commit"])
def test_an_error_that_is_swallowed_is_found(tmp_path: Path, fault: str) -> None:
    pytest.importorskip("pyarrow", reason="needs simstore[parquet]")
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(fault.format(root=str(ROOT)))
    nursery = Nursery({"PYTHONPATH": str(planted)})
    try:
        with pytest.raises(AssertionError, match=r"rejected|documents|told"):
            read_rounds(nursery, tmp_path)
    finally:
        nursery.close()


def read_rounds(nursery: Nursery, tmp_path: Path) -> None:
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        Reading(nursery, folder).round(Random(seed), 16)


@dataclass
class Slow:
    """What a health check needs of a server."""

    port: int


def test_a_server_that_answers_late_is_seen() -> None:
    late = threading.Event()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    def serve(listening: socket.socket) -> None:
        while True:
            try:
                made, _ = listening.accept()
            except OSError:
                return
            with made:
                made.recv(1_000)
                if late.is_set():
                    threading.Event().wait(3.0)
                made.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        health = Health(Slow(listening.getsockname()[1]))  # type: ignore[arg-type]
        assert health.is_slow() is None
        late.set()
        assert health.is_slow() is not None
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_the_status_of_an_answer_is_not_that_of_what_goes_before_it() -> None:
    assert status_of(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 408 Request Timeout\r\n\r\n") == 408
    assert status_of(b"HTTP/1.1 200 OK\r\n\r\n") == 200
    assert status_of(b"") is None
