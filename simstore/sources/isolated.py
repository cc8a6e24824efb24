"""Read files in worker processes, since the native code that parses a file may crash.

A damaged file can crash such code, keep it busy for ever, or let it ask for any memory. A worker
reads one file after the other; it ends at a file that it cannot stand, and only that file is lost,
from the record on where it happened.

It streams frames: a header (the size of a JSON object), the object, and the texts of its records,
one after the other in UTF-8; or, of readers of whole tables, bytes. The object has a ``kind``:
``records`` (perhaps none: reading goes on), ``missing`` (an optional package), ``option`` (a wrong
parameter) or ``failed`` (why reading ended).
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import struct
import tempfile
import time
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from simstore.errors import InvalidParameter, MissingExtra, SimstoreError
from simstore.model import Document, Ignored, Rejection
from simstore.sources.reader import ReadOptions, ReadRequest, is_installed
from simstore.sources.source import Record
from simstore.sources.streams import CountingReader, count_read
from simstore.sources.unpacking import buffered
from simstore.workers.process import Limits, WorkerEnded, WorkerPool

_HEADER = struct.Struct(">I")
# A key or a title may hold bytes that are no UTF-8, as lone surrogates.
_ERRORS = "surrogatepass"
# Fields of a document but its key and its text.
_FIELDS = tuple(field.name for field in fields(Document))[2:]
# Processor time from one frame to the next. Books of a thousand pages take some seconds.
MOST_SECONDS = 60
# Clock time, for a system without limits of processor time, and a process that waits.
_PATIENCE = 10
# A table may hold a part of its file in memory, packed and unpacked.
_LEAST_MEMORY = 4 << 30
_MEMORY_A_BYTE = 2
_PIECE = 1 << 20
_RECORDS = 1_000
_CHARACTERS = 1 << 20
# Without records, an empty frame reports so often that reading goes on.
_FRAME_SECONDS = 0.5
_OUT_OF_TIME = getattr(signal, "SIGXCPU", None)
_MORE_MEMORY = "reading it takes more memory than it may have"


def packed(kind: str, records: Sequence[Record | bytes] = (), **facts: Any) -> bytes:
    """Pack records into a frame.

    Args:
        kind: Its kind.
        records: The records in it.
        facts: More members of its object: JSON values.
    """
    texts: list[bytes] = []
    rows = [_row(record, texts) for record in records]
    told = json.dumps(
        {"kind": kind, "records": rows, **facts}, ensure_ascii=False, separators=(",", ":")
    ).encode(errors=_ERRORS)
    return b"".join((_HEADER.pack(len(told)), told, *texts))


def unpacked(frame: bytes) -> tuple[dict[str, Any], list[Record | bytes]]:
    """Unpack a frame into its JSON facts and its records."""
    (size,) = _HEADER.unpack_from(frame)
    view = memoryview(frame)
    place = _HEADER.size + size
    facts: dict[str, Any] = json.loads(str(view[_HEADER.size : place], errors=_ERRORS))
    records: list[Record | bytes] = []
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


def frames_of(
    records: Iterable[Record | bytes | None], raw: CountingReader | None = None
) -> Iterator[bytes]:
    """Yield frames of records, and as the last one why reading ended before its end.

    Args:
        records: The records; None where reading goes on without one.
        raw: The file, whose bytes are counted.
    """
    waiting: list[Record | bytes] = []
    characters, framed_at = 0, time.monotonic()

    def frame() -> bytes:
        return packed("records", waiting, bytes_read=0 if raw is None else raw.count)

    try:
        for record in records:
            if record is not None:
                waiting.append(record)
                piece = record if isinstance(record, bytes) else getattr(record, "text", "")
                characters += len(piece)
                is_full = len(waiting) >= _RECORDS or characters >= _CHARACTERS
            else:
                is_full = bool(waiting) or time.monotonic() - framed_at > _FRAME_SECONDS
            if is_full:
                yield frame()
                waiting, characters, framed_at = [], 0, time.monotonic()
        yield frame()
    except MissingExtra as error:
        yield packed("missing", feature=error.feature, extra=error.extra)
    except InvalidParameter as error:
        yield packed("option", reason=str(error))
    except MemoryError:
        yield packed("failed", reason=_MORE_MEMORY)
    except SimstoreError as error:
        yield packed("failed", reason=getattr(error, "reason", str(error)))
    except Exception as error:
        # A library may raise anything on a damaged file.
        line = " ".join(str(error).split())[:200] or type(error).__name__
        yield packed("failed", reason=f"the file is damaged: {line}")


def records_of(frame: bytes, stream: io.BufferedReader | None = None) -> list[Record | bytes]:
    """Return the records of a frame; count what was read for them.

    Raises:
        MissingExtra: The worker lacks a package.
        InvalidParameter: A parameter of reading is wrong.
        ReadingEnded: It cannot go on.
    """
    facts, records = unpacked(frame)
    if facts["kind"] == "records":
        if stream is not None:
            count_read(stream, facts["bytes_read"])
        return records
    if facts["kind"] == "missing":
        raise MissingExtra(facts["feature"], facts["extra"])
    if facts["kind"] == "option":
        raise InvalidParameter(facts["reason"])
    raise ReadingEnded(facts["reason"])


class ReadingEnded(Exception):
    """Raised if reading ends before the file does; its text says why."""


def why_ended(error: WorkerEnded, limits: Limits) -> str:
    """Return why a worker ended without an answer, within its limits."""
    status = error.status
    if status is None and limits.seconds is None:
        return f"reading it gives nothing for {limits.piece_seconds:,.0f} s"
    if status is None or status == -signal.SIGKILL:
        return "reading it takes more time or memory than it may have"
    if -status == _OUT_OF_TIME:
        return f"reading it takes more than {limits.processor_seconds:,} s of processor time"
    if status < 0:
        what = (signal.strsignal(-status) or f"signal {-status}").lower()
        return f"the process that reads it ended: {what}"
    return f"the library that reads it ended by itself (status {status})"


class IsolatedReader(ABC):
    """A base of readers that read in a worker process.

    A worker, such as the one that reads a file sent to a server, reads by itself.

    Attributes:
        package: What must be installed.
        feature: What needs it, for the error.
        extra: The extra of simstore that brings it.
        most_seconds: Processor time from one frame to the next.
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
        if _is_bounded:
            for record in self.read_here(stream, request):
                if record is not None:
                    yield record
            return
        position, byte_offset = request.position, request.byte_offset
        try:
            for record in self._records(stream, request):
                yield record
                if not isinstance(record, bytes):
                    position, byte_offset = (record.position or 0) + 1, record.end_offset or 0
        except ReadingEnded as error:
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

    def _records(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record | bytes]:
        """Yield the records that a worker reads.

        Raises:
            MissingExtra: It lacks a package.
            ReadingEnded: It ended before the file did.
        """
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        limits = Limits(
            processor_seconds=self.most_seconds,
            memory_bytes=_LEAST_MEMORY + _MEMORY_A_BYTE * size,
            piece_seconds=self.most_seconds * _PATIENCE,
        )
        with _file_of(stream) as descriptor:
            try:
                with READERS.worker() as worker:
                    for frame in worker.stream(
                        "read", type(self), request, limits=limits, descriptor=descriptor
                    ):
                        yield from records_of(frame, stream)
            except WorkerEnded as error:
                raise ReadingEnded(why_ended(error, limits)) from None
            except OSError as error:
                reason = f"no process to read it can be started ({error.strerror})"
                raise ReadingEnded(reason) from None


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


# The worker's side

_is_bounded = False


class FileReading:
    """Reads files in a worker."""

    def read(
        self, reader: type[IsolatedReader], request: ReadRequest, descriptor: int
    ) -> Iterator[bytes]:
        """Yield frames of the records that a reader finds in an open file."""
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            raw = CountingReader(file)
            raw.seek(0)
            stream = buffered(raw)
            yield from frames_of(reader().read_here(stream, request), raw)

    def read_file(self, name: str, options: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield frames of the records of a file of any format.

        Args:
            name: Its path.
            options: Options of :class:`~simstore.sources.reader.ReadOptions`.
        """
        from simstore.sources.files import FileSource

        def records() -> Iterator[Record]:
            yield from FileSource(name, ReadOptions(**options)).records()

        return frames_of(records())


@contextmanager
def reading_files() -> Iterator[FileReading]:
    """Yield what reads files in a worker, where readers need no other process."""
    global _is_bounded
    _is_bounded = True
    yield FileReading()


READERS = WorkerPool(reading_files)
atexit.register(READERS.end)
