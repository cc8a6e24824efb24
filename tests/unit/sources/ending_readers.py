"""Readers of files whose lines end the process that reads them, as damage does with native code."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Iterator

from simstore.model import Document
from simstore.sources.isolated import IsolatedReader
from simstore.sources.reader import ReadRequest
from simstore.sources.source import Record


class EndingReader(IsolatedReader):
    """A line is a document, or what happens when it is read."""

    name = "ending"
    suffixes = (".ending",)
    package, feature, extra = "json", "reading lines", "none"

    def recognises(self, _head: bytes) -> bool:
        return False

    def read_here(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record | None]:
        stream.seek(request.byte_offset)
        end = request.byte_offset
        for position, line in enumerate(stream, start=request.position):
            text = line.decode().strip()
            if text.startswith("signal "):
                os.kill(os.getpid(), int(text.split()[1]))
            if text == "memory":
                held = bytearray(1 << 45)
                assert held
            if text == "work":
                while True:
                    pass
            if text == "raise":
                raise KeyError("no such part")
            if text == "stop politely":
                os.kill(os.getpid(), signal.SIGTERM)
                os.kill(os.getpid(), signal.SIGINT)
            if text == "print":
                print("no answer", flush=True)
                os.write(1, b"no answer")
            if text == "slow":
                # Longer than a process may work without an answer.
                began = time.process_time()
                while time.process_time() - began < 2.2:
                    yield None
            start, end = end, end + len(line)
            yield Document(
                f"{request.name}:{position}", text, metadata={"process": os.getpid()},
                position=position, byte_offset=start, end_offset=end,
            )  # fmt: skip
            yield None


class QuickEndingReader(EndingReader):
    """The same, with less time."""

    most_seconds = 1
