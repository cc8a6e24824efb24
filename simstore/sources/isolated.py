"""Readers that run in a child process, since the native code that parses a file may crash.

A damaged file can crash such code, keep it busy for ever, or let it ask for any memory. The process
reads one file after the other; it ends at a file that it cannot stand, and only that file is lost,
from the record on where it happened.

It sends frames: a header (two sizes), a JSON object, and the texts of its records, one after the
other in UTF-8; or, of readers of whole tables, bytes. The object has a ``kind``: ``records``
(perhaps none: reading goes on), ``end``, ``missing`` (an optional package) or ``failed`` (why
reading ended).
"""

from __future__ import annotations

import atexit
import io
import json
import os
import select
import socket
import struct
import subprocess
import tempfile
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from threading import Lock
from typing import Any

from simstore.errors import MissingExtra
from simstore.model import Document, Ignored, Rejection
from simstore.sources import bounded
from simstore.sources.reader import ReadRequest, is_installed
from simstore.sources.source import Record
from simstore.sources.streams import count_read

HEADER = struct.Struct(">IQ")
# A key or a title may hold bytes that are no UTF-8, as lone surrogates.
_ERRORS = "surrogatepass"
# Fields of a document but its key and its text.
_FIELDS = tuple(field.name for field in fields(Document))[2:]
PROGRAM = "simstore.sources.isolated_process"
# Processor time from one answer to the next. Books of a thousand pages take some seconds.
MOST_SECONDS = 60
# By the clock: where a system knows no limit of processor time, and for a process that waits.
_PATIENCE = 10
# A table may hold a part of its file in memory, packed and unpacked.
_LEAST_MEMORY = 4 << 30
_MEMORY_A_BYTE = 2
# Libraries may keep some memory of each file that they read.
_MOST_FILES = 1_000
_MOST_IDLE = 4
_PIECE = 1 << 20
_PIPE_BYTES = 1 << 20
# Of what is asked.
SIZE = struct.Struct(">I")


def packed(kind: str, records: Sequence[Record | bytes] = (), **facts: Any) -> bytes:
    """Pack records into a frame.

    Args:
        kind: What it is.
        records: The records in it.
        facts: What else it says: JSON values.
    """
    texts: list[bytes] = []
    rows = [_row(record, texts) for record in records]
    told = json.dumps(
        {"kind": kind, "records": rows, **facts}, ensure_ascii=False, separators=(",", ":")
    ).encode(errors=_ERRORS)
    size = sum(map(len, texts))
    return b"".join((HEADER.pack(len(told), size), told, *texts))


def unpacked(
    told: bytes | bytearray, texts: bytes | bytearray
) -> tuple[dict[str, Any], list[Record | bytes]]:
    """Unpack a frame into its JSON facts and its records.

    Args:
        told: Its JSON object.
        texts: The texts after it.
    """
    facts: dict[str, Any] = json.loads(str(told, errors=_ERRORS))
    records: list[Record | bytes] = []
    view = memoryview(texts)
    place = 0
    for row in facts.pop("records"):
        kind = row[0]
        if kind == "rejection":
            records.append(Rejection(*(*row[1:-1], b64decode(row[-1]))))
        elif kind == "passed over":
            records.append(Ignored(*row[1:]))
        elif kind == "bytes":
            records.append(bytes(view[place : place + row[1]]))
            place += row[1]
        else:
            _, key, size, *values = row
            text = str(view[place : place + size], errors=_ERRORS)
            place += size
            named = dict(zip(_FIELDS, values, strict=True))
            named["links"] = tuple(named["links"])
            records.append(Document(key, text, **named))
    return facts, records


def _row(record: Record | bytes, texts: list[bytes]) -> tuple[Any, ...]:
    """Return a record as a JSON array; a text is put to the others, and its size stays."""
    if isinstance(record, bytes):
        texts.append(record)
        return ("bytes", len(record))
    if isinstance(record, Document):
        texts.append(record.text.encode(errors=_ERRORS))
        rest = (getattr(record, name) for name in _FIELDS)
        return ("document", record.key, len(texts[-1]), *rest)
    place = (record.source, record.position, record.byte_offset, record.end_offset, record.reason)
    if isinstance(record, Rejection):
        return ("rejection", *place, b64encode(record.head).decode())
    return ("passed over", *place, record.seen_key, record.seen_at, record.is_source)


class IsolatedReader(ABC):
    """A base of readers that read in a process of their own.

    A process that is bounded itself, as the one that reads what is sent to a server, reads by
    itself.

    Attributes:
        package: What must be installed.
        feature: What needs it, for the error.
        extra: The extra of simstore that brings it.
        most_seconds: Processor time from one answer of the process to the next.
    """

    needs_file = True
    record_ends: tuple[bytes, ...] = ()
    package: str
    feature: str
    extra: str
    most_seconds = MOST_SECONDS

    @abstractmethod
    def read_here(
        self, stream: io.BufferedReader, request: ReadRequest
    ) -> Iterator[Record | bytes | None]:
        """Yield the records, in this process; None where reading goes on without one.

        A reader of whole tables yields bytes in their stead, which only :meth:`pieces` takes.

        What came before a None is kept if the process ends after it.
        """

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the records; where the process ends before the file does, a rejection is the last.

        Raises:
            MissingExtra: A package is not installed.
        """
        for piece in self.pieces(stream, request):
            if not isinstance(piece, bytes):
                yield piece

    def pieces(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record | bytes]:
        """Yield the records, or the pieces of a table, as :meth:`read` does.

        Raises:
            MissingExtra: A package is not installed.
        """
        if not is_installed(self.package):
            raise MissingExtra(self.feature, self.extra)
        if bounded.is_bounded():
            for record in self.read_here(stream, request):
                if record is not None:
                    yield record
            return
        position, byte_offset = request.position, request.byte_offset
        try:
            for record in _records(self, stream, request):
                yield record
                if not isinstance(record, bytes):
                    position, byte_offset = (record.position or 0) + 1, record.end_offset or 0
        except _Ended as error:
            yield self.broken_off(stream, request, (position, byte_offset), str(error))

    def broken_off(
        self,
        stream: io.BufferedReader,  # noqa: ARG002 - for others
        request: ReadRequest,
        place: tuple[int, int],
        reason: str,
    ) -> Rejection:
        """Return the rejection of what comes after the last record that could be read.

        Args:
            stream: The file.
            request: What was wanted.
            place: Position and byte offset of the first record that is missing.
            reason: Why it is.
        """
        position, byte_offset = place
        return Rejection(request.name, position, byte_offset, byte_offset, reason)


class _Ended(Exception):
    """The process gave no answer; says why."""


def _records(
    reader: IsolatedReader, stream: io.BufferedReader, request: ReadRequest
) -> Iterator[Record | bytes]:
    """Yield what a process reads of a file.

    Raises:
        MissingExtra: It lacks a package.
        _Ended: It ended before the file did.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    job = {
        "reader": f"{type(reader).__module__}:{type(reader).__qualname__}",
        "name": request.name,
        "position": request.position,
        "byte_offset": request.byte_offset,
        "head_bytes": len(request.head),
        "options": asdict(request.options),
        "seconds": reader.most_seconds,
        "memory_bytes": _LEAST_MEMORY + _MEMORY_A_BYTE * size,
    }
    with _file_of(stream) as descriptor:
        process = _started(job, descriptor)
        answered = False
        try:
            while True:
                facts, records = process.answer(reader.most_seconds)
                count_read(stream, facts.get("bytes_read", 0))
                yield from records
                if facts["kind"] == "records":
                    continue
                if facts["kind"] == "failed":
                    raise _Ended(facts["reason"])
                answered = True
                if facts["kind"] == "missing":
                    raise MissingExtra(facts["feature"], facts["extra"])
                return
        finally:
            # One that was left in the middle of a file would go on with it.
            _give_back(process) if answered else process.end()


@contextmanager
def _file_of(stream: io.BufferedReader) -> Iterator[int]:
    """Yield the descriptor of a stream's file; of a temporary one, where it is none."""
    try:
        descriptor = stream.fileno()
    except OSError:
        with tempfile.TemporaryFile(prefix="simstore-") as file:
            while data := stream.read(_PIECE):
                file.write(data)
            file.flush()
            yield file.fileno()
    else:
        yield descriptor


class _Process:
    """A process that reads files, one after the other.

    Raises:
        _Ended: It cannot be started.
    """

    def __init__(self) -> None:
        self.file_count = 0
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = bounded.start(PROGRAM, standard_input=theirs.fileno())
            except OSError as error:
                self._socket.close()
                reason = f"no process to read it can be started ({error.strerror})"
                raise _Ended(reason) from None
        pipe = self._process.stdout
        if pipe is None:
            raise RuntimeError("the process has no output")
        self._pipe = pipe
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            # It reads on while its last answer is worked on.
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def ask(self, job: dict[str, Any], descriptor: int) -> None:
        """Send what to read, and the file; wait until it is taken.

        Raises:
            _Ended: It is not.
        """
        self.file_count += 1
        data = json.dumps(job).encode()
        # Where it has ended, it gives no answer.
        with suppress(OSError):
            socket.send_fds(self._socket, [SIZE.pack(len(data))], [descriptor])
            self._socket.sendall(data)
        self.answer(job["seconds"])

    def answer(self, seconds: int) -> tuple[dict[str, Any], list[Record | bytes]]:
        """Return its next answer.

        Args:
            seconds: Processor time that it may take.

        Raises:
            _Ended: It gives none.
        """
        told, size = HEADER.unpack(self._bytes(HEADER.size, seconds))
        return unpacked(self._bytes(told, seconds), self._bytes(size, seconds))

    def _bytes(self, size: int, seconds: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            if not self._poll.poll(seconds * _PATIENCE * 1_000):
                raise _Ended(f"reading it gives nothing for {seconds * _PATIENCE:,} s")
            # What is behind it stays in the pipe, where poll sees it.
            count = os.readv(self._pipe.fileno(), [view])
            if not count:
                with suppress(subprocess.TimeoutExpired):
                    # It is ending by itself, for a reason that shall be known.
                    self._process.wait(1)
                self.end()
                raise _Ended(bounded.why_ended(self._process.returncode, seconds))
            view = view[count:]
        return data

    def end(self) -> None:
        """End it."""
        _all.discard(self)
        self._socket.close()
        self._process.kill()
        self._pipe.close()
        self._process.wait()

    def forget(self) -> None:
        """Leave it to the process that this one was forked from."""
        self._socket.close()
        self._pipe.close()
        # Nobody here may wait for it.
        self._process.returncode = 0


_lock = Lock()
_idle: list[_Process] = []
_all: set[_Process] = set()


def _started(job: dict[str, Any], descriptor: int) -> _Process:
    """Return a process that begins to read a file.

    Raises:
        _Ended: There is none.
    """
    while True:
        with _lock:
            waiting = _idle.pop() if _idle else None
        process = waiting or _Process()
        _all.add(process)
        try:
            process.ask(job, descriptor)
        except _Ended:
            process.end()
            # One that waited may have been ended by somebody else.
            if waiting is None:
                raise
        except BaseException:
            process.end()
            raise
        else:
            return process


def _give_back(process: _Process) -> None:
    """Keep a process for the next file, but one that has read many."""
    with _lock:
        if process.file_count < _MOST_FILES and len(_idle) < _MOST_IDLE:
            _idle.append(process)
            return
    process.end()


@atexit.register
def end_all() -> None:
    """End all processes that read files, as is done at the end of this one."""
    _idle.clear()
    for process in list(_all):
        process.end()


def _forget_all() -> None:
    global _lock
    _lock = Lock()
    for process in _all:
        process.forget()
    _all.clear()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
