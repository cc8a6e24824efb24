"""The program of the child process that reads files for :mod:`~.isolated`.

Its standard input is a socket, from which it takes what to read: a size of 4 bytes with the
descriptor of an open file, and a JSON object. It answers on its standard output with frames
(:mod:`~.isolated`), the first of them before it reads, and takes the next file, until its
input ends.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import sys
import time
from importlib import import_module
from typing import Any, BinaryIO

from simstore.errors import MissingExtra
from simstore.sources import bounded
from simstore.sources.isolated import SIZE, IsolatedReader, packed
from simstore.sources.reader import HistoryFields, ReadOptions, ReadRequest, SourceFields
from simstore.sources.source import Record
from simstore.sources.streams import CountingReader
from simstore.sources.unpacking import buffered

_RECORDS = 1_000
_CHARACTERS = 1 << 20
# Without records, so often is said that reading goes on.
_SECONDS = 0.5


def main() -> None:
    """Answer until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Meant for the process that wants the records, which ends this one.
        signal.signal(number, signal.SIG_IGN)
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    # What a library writes is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as source:
        while True:
            size, descriptors, _, _ = socket.recv_fds(source, SIZE.size, 1)
            if len(size) < SIZE.size or not descriptors:
                return
            job = json.loads(_received(source, *SIZE.unpack(size)))
            with os.fdopen(descriptors[0], "rb", buffering=0) as file:
                # It is taken.
                _write(target, packed("records"))
                if not _answer(job, file, target):
                    return


def _received(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := source.recv(size - len(data))):
        data += piece
    return data


def _answer(job: dict[str, Any], file: io.RawIOBase, target: BinaryIO) -> bool:
    """Send the records of a file; return whether this process can read another one."""
    try:
        _Answer(job, file, target).send()
    except MissingExtra as error:
        _write(target, packed("missing", feature=error.feature, extra=error.extra))
        return True
    except MemoryError:
        reason = "reading it takes more memory than it may have"
    except BrokenPipeError:
        return False
    except Exception as error:
        # Of a damaged file libraries raise whatever their code comes upon.
        line = " ".join(str(error).split())[:200]
        reason = f"the file is damaged: {line or type(error).__name__}"
    else:
        return True
    _write(target, packed("failed", reason=reason))
    return False


class _Answer:
    """The answer to a request: frames of records.

    Args:
        job: How to read.
        file: The file.
        target: Where frames are written.
    """

    def __init__(self, job: dict[str, Any], file: io.RawIOBase, target: BinaryIO) -> None:
        self._job = job
        self._raw = CountingReader(file)
        self._target = target
        self._records: list[Record | bytes] = []
        self._characters = 0
        self._written_at = time.monotonic()

    def send(self) -> None:
        """Read the file, and send its records."""
        job = self._job
        self._raw.seek(0)
        stream = buffered(self._raw)
        head = stream.read(job["head_bytes"])
        stream.seek(0)
        options = dict(job["options"])
        options["history_fields"] = HistoryFields(**options["history_fields"])
        options["source_fields"] = SourceFields(**options["source_fields"])
        place = job["name"], job["position"], job["byte_offset"]
        request = ReadRequest(*place, ReadOptions(**options), head)
        self._bound()
        for record in _reader(job["reader"]).read_here(stream, request):
            if record is None:
                if self._records or time.monotonic() - self._written_at > _SECONDS:
                    self._flush()
                continue
            self._records.append(record)
            piece = record if isinstance(record, bytes) else getattr(record, "text", "")
            self._characters += len(piece)
            if len(self._records) >= _RECORDS or self._characters >= _CHARACTERS:
                self._flush()
        self._flush("end")

    def _bound(self) -> None:
        bounded.bound(self._job["seconds"], self._job["memory_bytes"])

    def _flush(self, kind: str = "records") -> None:
        """Send what was read; what comes has its own time."""
        _write(self._target, packed(kind, self._records, bytes_read=self._raw.count))
        self._records, self._characters = [], 0
        self._written_at = time.monotonic()
        self._bound()


def _reader(place: str) -> IsolatedReader:
    module, _, name = place.partition(":")
    found: IsolatedReader = getattr(import_module(module), name)()
    return found


def _write(target: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[target.write(view) :]


if __name__ == "__main__":
    main()
