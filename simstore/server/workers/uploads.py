"""Read uploaded files, each in a child process with time and memory limits.

No file can keep the server busy, take its memory, or meet what another file left behind. The
process knows nothing of the server: its environment is empty but for what Python needs, and it
works in a folder that is deleted with all that is in it.
"""

from __future__ import annotations

import os
import re
import struct
import tempfile
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simstore.errors import (
    InvalidParameter,
    SimstoreError,
    TooLarge,
    UnreadableSource,
    printable,
)
from simstore.model import Document, Ignored, Rejection
from simstore.sources.isolated import ReadingEnded, reading_files, records_of, why_ended
from simstore.sources.reader import sees_bytes
from simstore.sources.source import MAX_DOCUMENT_BYTES
from simstore.store import Store
from simstore.wire import from_wire, to_wire
from simstore.workers.process import Limits, Worker, WorkerEnded

_LONGEST_NAME = 180
_NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\[\]]')
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
# JSON takes more than a value: a control character six bytes.
_ROOM, _MARGIN = 6, 1 << 20
_MOST_REJECTIONS = 100
# Raised for frames that are none, which a library may have written.
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, RuntimeError, struct.error)


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Resource limits for reading one uploaded file.

    Attributes:
        processor_seconds: Processor time.
        seconds: Time by the clock, from the start of the process.
        memory_bytes: Address space of the process, the interpreter's own 0.3 GB among it.
        text_bytes: Bytes of all texts that come out, and of the longest record.
        documents: Documents that come out.
        written_bytes: Size of a file that a library writes in between.
    """

    processor_seconds: int = 20
    seconds: float = 25.0
    memory_bytes: int = 2 << 30
    text_bytes: int = 32 << 20
    documents: int = 1_000
    written_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Upload:
    """The documents read from a file, and the records that were rejected.

    Attributes:
        documents: Its documents; at least one.
        rejections: Records that could not be read.
    """

    documents: tuple[Document, ...]
    rejections: tuple[Rejection, ...]


def read_upload(
    name: str,
    data: bytes,
    *,
    options: Mapping[str, Any] | None = None,
    limits: UploadLimits | None = None,
) -> Upload:
    """Return the documents in a file, read as ``simstore ingest`` reads it.

    Takes as long as the limits let it: to be called in a thread.

    Args:
        name: What its sender calls it: its ending may tell how it is read, and it is the key where
            the file holds none. Folders in it count for nothing.
        data: Its bytes.
        options: Of :class:`~simstore.sources.reader.ReadOptions`: ``format``, ``encoding``,
            ``extract``, ``key_field``, ``text_field``, ``texts_are_articles``.
        limits: What it may take.

    Raises:
        UnreadableSource: Nothing in it can be read; the time or the memory is not enough.
        TooLarge: More comes out of it than may.
        MissingExtra: A package that reads such files is not installed.
        InvalidParameter: An option is none.
    """
    bounds = limits or UploadLimits()
    shown = safe_name(name)
    with tempfile.TemporaryDirectory(prefix="simstore-upload-") as folder:
        (Path(folder) / shown).write_bytes(data)
        documents, rejections = _records(Path(folder), shown, dict(options or {}), bounds)
    if not documents:
        raise UnreadableSource(
            shown, rejections[0].reason if rejections else "there is no text in it"
        )
    return Upload(tuple(documents), tuple(rejections))


def read_paper(
    store: Store,
    name: str,
    data: bytes,
    encoding: str = "auto",
    *,
    limits: UploadLimits | None = None,
) -> Upload:
    """Return the documents in a file that is to be checked against a store; as :func:`read_upload`.

    Args:
        store: The store; texts are bytes to some schemes.
        name: What its sender calls it.
        data: Its bytes.
        encoding: ``auto``, ``keep``, or the encoding of texts and pages.
        limits: What it may take.
    """
    if encoding == "auto" and sees_bytes(store.maintenance.scheme().label):
        encoding = "keep"
    return read_upload(name, data, options={"encoding": encoding}, limits=limits)


def safe_name(name: str) -> str:
    """Return the name of a file without its folders, and without what no name should have."""
    base = name.replace("\\", "/").rpartition("/")[2]
    base = unicodedata.normalize("NFC", printable(base).replace("\\", "_"))
    base = _NO_NAME.sub("_", base).strip(" .-")
    data = base.encode()
    if len(data) > _LONGEST_NAME:
        ending = Path(base).suffix.encode()[:20]
        data = data[: _LONGEST_NAME - len(ending)] + ending
    return data.decode(errors="ignore") or "file"


def _records(
    folder: Path, name: str, options: dict[str, Any], bounds: UploadLimits
) -> tuple[list[Document], list[Rejection]]:
    """Return the documents and rejections that a worker of its own reads; it has ended then."""
    environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    environment |= {"TMPDIR": str(folder), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    # A document may be as long as all of them may be together.
    longest = max(bounds.text_bytes, MAX_DOCUMENT_BYTES)
    limits = Limits(
        processor_seconds=bounds.processor_seconds,
        memory_bytes=bounds.memory_bytes,
        piece_seconds=bounds.seconds,
        seconds=bounds.seconds,
        written_bytes=bounds.written_bytes,
        piece_bytes=longest * _ROOM + _MARGIN,
    )
    documents: list[Document] = []
    rejections: list[Rejection] = []
    room = bounds.text_bytes
    try:
        worker = Worker(environment=environment, folder=folder)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableSource(name, f"no process to read it can be started ({reason})") from error
    try:
        worker.begin(reading_files)
        options = {"max_document_bytes": longest, **options}
        for frame in worker.stream("read_file", name, options, limits=limits):
            for record in map(_checked, records_of(frame)):
                if isinstance(record, Document):
                    documents.append(record)
                    room -= len(record.text.encode("utf-8", "surrogatepass"))
                elif len(rejections) < _MOST_REJECTIONS:
                    if isinstance(record, Rejection):
                        rejections.append(record)
                    elif isinstance(record, Ignored) and not record.is_source:
                        place = record.position, record.byte_offset, record.end_offset
                        rejections.append(Rejection(record.source, *place, record.reason))
            if len(documents) > bounds.documents:
                raise TooLarge(f"documents in {name}", bounds.documents)
            if room < 0:
                raise TooLarge(f"bytes of text in {name}", bounds.text_bytes)
    except ReadingEnded as error:
        raise UnreadableSource(name, str(error)) from None
    except WorkerEnded as error:
        raise UnreadableSource(name, why_ended(error, limits)) from None
    except SimstoreError:
        raise
    except _MALFORMED as error:
        raise UnreadableSource(name, "the process that reads it gave no answer") from error
    finally:
        worker.end()
    return documents, rejections


def _checked(record: Any) -> Any:
    """Return a record with values of the right types: it is believed no more than the file.

    Raises:
        TypeError: It has others.
    """
    try:
        return from_wire(type(record), to_wire(record))
    except InvalidParameter as error:
        raise TypeError(str(error)) from None
