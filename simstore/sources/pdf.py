"""PDF files: their text layer, taken by a process that is bounded."""

from __future__ import annotations

import atexit
import importlib.util
import io
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from threading import Lock, Timer
from typing import Any

from simstore.errors import MissingExtra
from simstore.sources import bounded, pdf_text
from simstore.sources.office import document_of, refused
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record

# Processor time of one file. Books of a thousand pages take some seconds.
MOST_SECONDS = 60
# Where a system knows no limit of processor time, and for a process that waits.
_PATIENCE = 10
# Readers of PDF look for it so far into a file.
_HEADER, _HEADER_WITHIN = b"%PDF-", 1024
_PIECE = 1 << 20


class PdfReader:
    """Reads the text layer of .pdf files: a document whose key is the file's name.

    A file without one, as scanners make it, is rejected. So is one that keeps the library busy for
    longer than a limit, or lets it take more than 4 GB: it reads in a process of its own, which is
    ended then, and which reads all files of this process otherwise. A process that is bounded
    itself reads them itself.

    Args:
        most_seconds: Most processor time of a file.
    """

    name = "pdf"
    suffixes = (".pdf",)
    needs_file = True
    record_ends = ()

    def __init__(self, most_seconds: int = MOST_SECONDS) -> None:
        self._worker = _Worker(most_seconds)

    def recognises(self, head: bytes) -> bool:
        """Return whether the bytes begin as every PDF file does."""
        return head.startswith(_HEADER)

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the document.

        Raises:
            MissingExtra: pypdf is not installed.
        """
        if request.position:
            return
        if not _is_installed():
            raise MissingExtra("reading .pdf files", "office")
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if _HEADER not in request.head[:_HEADER_WITHIN]:
            yield refused(request, size, "it is not a PDF file")
            return
        limit = request.options.max_document_bytes
        if bounded.is_bounded():
            found = pdf_text.found(stream, limit)
        else:
            found = self._worker.answer(stream, size, limit)
        reason = found.get("reason")
        if reason is None and not found["text"].strip():
            reason = "no text layer: its pages are pictures"
        if reason is not None:
            yield refused(request, size, reason)
        else:
            yield document_of(request, size, found["text"], found["title"])


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("pypdf") is not None
    except ValueError:
        return False


class _Worker:
    """A process that reads PDF files, started for the first one and after one that ended it."""

    def __init__(self, most_seconds: int) -> None:
        self._most_seconds = most_seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # A process that was forked has its own.
        self._owner = 0

    def answer(self, stream: io.BufferedReader, size: int, limit: int | None) -> dict[str, Any]:
        """Return what the process says of a file."""
        with self._lock:
            try:
                process = self._running()
            except OSError as error:
                return {"reason": f"no process to read it can be started ({error.strerror})"}
            timer = Timer(self._most_seconds * _PATIENCE, process.kill)
            timer.daemon = True
            timer.start()
            answer = b""
            try:
                answer = _answer_of(process, stream, size, limit)
            finally:
                timer.cancel()
                if not answer:
                    self._end()
            if not answer:
                return {"reason": bounded.why_ended(process.returncode, self._most_seconds)}
            found: dict[str, Any] = json.loads(answer)
            return found

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self._end()
            self._process = bounded.start(pdf_text.__name__, str(self._most_seconds))
            self._owner = os.getpid()
            atexit.register(self._end)
        return self._process

    def _end(self) -> None:
        """End the process."""
        process = self._process
        if process is None or self._owner != os.getpid():
            return
        self._process = None
        atexit.unregister(self._end)
        with suppress(subprocess.TimeoutExpired):
            # It may be ending by itself, for a reason that shall be known.
            process.wait(0.1)
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.wait()


def _answer_of(
    process: subprocess.Popen[bytes], stream: io.BufferedReader, size: int, limit: int | None
) -> bytes:
    """Send a file to a process and return its answer; nothing, if it has ended."""
    if process.stdin is None or process.stdout is None:
        return b""
    pieces = iter(lambda: stream.read(_PIECE), b"")
    asked = pdf_text.REQUEST.pack(pdf_text.NO_LIMIT if limit is None else limit, size)
    for piece in chain((asked,), pieces):
        try:
            process.stdin.write(piece)
        except OSError:
            return b""
    try:
        process.stdin.flush()
    except OSError:
        return b""
    told = process.stdout.read(pdf_text.ANSWER.size)
    if len(told) < pdf_text.ANSWER.size:
        return b""
    (length,) = pdf_text.ANSWER.unpack(told)
    answer = process.stdout.read(length)
    return answer if len(answer) == length else b""
