"""Read uploaded files, each in a child process with time and memory limits.

No file can keep the server busy, take its memory, or meet what another file left behind. The
process knows nothing of the server: its environment is empty but for what Python needs, and it
works in a folder that is deleted with all that is in it.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import tempfile
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from simstore.errors import (
    InvalidParameter,
    MissingExtra,
    SimstoreError,
    TooLarge,
    UnreadableSource,
    printable,
)
from simstore.model import Document, Rejection
from simstore.server.workers import upload_process
from simstore.sources import bounded
from simstore.sources.reader import sees_bytes
from simstore.store import Store
from simstore.wire import decoded, encoded, from_wire

_LONGEST_NAME = 180
_NO_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\[\]]')
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
# JSON takes more than the text: a control character six bytes.
_ROOM, _MARGIN = 6, 1 << 20
_PIECE = 1 << 16


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
        job = encoded(
            {
                "name": shown,
                "options": dict(options or {}),
                "seconds": math.ceil(bounds.seconds) + 1,
                "processor_seconds": bounds.processor_seconds,
                "memory_bytes": bounds.memory_bytes,
                "text_bytes": bounds.text_bytes,
                "documents": bounds.documents,
                "written_bytes": bounds.written_bytes,
            }
        )
        answer = _answer(Path(folder), shown, job, bounds)
    return _upload(shown, answer, bounds)


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


def _answer(folder: Path, name: str, job: bytes, limits: UploadLimits) -> bytes:
    """Return what the process says; it and all that it started have ended then."""
    environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    environment |= {"TMPDIR": str(folder), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        process = bounded.start(upload_process.__name__, environment=environment, folder=folder)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableSource(name, f"no process to read it can be started ({reason})") from error
    timer = Timer(limits.seconds, _kill, (process,))
    timer.daemon = True
    timer.start()
    try:
        # Until it has ended: then its end of the pipe is closed.
        answer = _exchange(process, job, limits.text_bytes * _ROOM + _MARGIN)
    finally:
        timer.cancel()
        timer.join()
        _kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.wait()
    if answer is None:
        raise TooLarge(f"bytes of text in {name}", limits.text_bytes)
    if not answer.endswith(b"\n"):
        raise UnreadableSource(
            name, bounded.why_ended(process.returncode, limits.processor_seconds)
        )
    return answer


def _exchange(process: subprocess.Popen[bytes], job: bytes, most: int) -> bytes | None:
    """Return all that a process answers; None: it is more than it may."""
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(OSError):
        process.stdin.write(job)
        process.stdin.close()
    answer = bytearray()
    while data := process.stdout.read(_PIECE):
        answer += data
        if len(answer) > most:
            return None
    return bytes(answer)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started; its number is its own until it is waited for."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _upload(name: str, answer: bytes, limits: UploadLimits) -> Upload:
    """Return what an answer says, which is believed no more than the file itself."""
    try:
        content = from_wire(dict[str, Any], decoded(answer))
        error = _error(name, content, limits) if "kind" in content else None
        documents = from_wire(list[Document], content.get("documents", []))
        rejections = from_wire(list[Rejection], content.get("rejections", []))
    except InvalidParameter as wrong:
        raise UnreadableSource(name, "the process that reads it gave no answer") from wrong
    if error is not None:
        raise error
    if not documents:
        reason = rejections[0].reason if rejections else "there is no text in it"
        raise UnreadableSource(name, reason)
    return Upload(tuple(documents), tuple(rejections))


def _error(name: str, told: Mapping[str, Any], limits: UploadLimits) -> SimstoreError:
    kind, what = str(told["kind"]), str(told.get("what"))
    if kind == "extra":
        return MissingExtra(what, str(told.get("extra")))
    if kind == "documents":
        return TooLarge(f"documents in {name}", limits.documents)
    if kind == "bytes":
        return TooLarge(f"bytes of text in {name}", limits.text_bytes)
    if kind == "option":
        return InvalidParameter(what)
    return UnreadableSource(name, what)
