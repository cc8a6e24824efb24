"""Plain text with a document a line."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import decode

_PIECE = 1 << 20


class LinesReader:
    """Reads plain text with a document a line; the key is ``NAME:LINE``, from 1.

    Blank lines are skipped. The line end, LF or CR LF, does not belong to the text; bytes that are
    not UTF-8 are kept as they are.
    """

    name = "lines"
    suffixes = ()
    needs_file = False
    record_ends = (b"\n",)

    def recognises(self, _head: bytes) -> bool:
        """Return False: no text tells that its lines are documents."""
        return False

    def read(self, stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the documents of a file."""
        name, position, offset = request.name, request.position, request.byte_offset
        limit = request.options.max_document_bytes
        while True:
            try:
                line, size = read_line(stream, limit)
            except DamagedStream as error:
                yield Rejection(name, position, offset, offset, error.reason)
                return
            if not size:
                return
            end = offset + size
            if size > len(line):
                reason = f"the line has {size:,} bytes, more than the limit of {limit:,}"
                yield Rejection(name, position, offset, end, reason, line[:HEAD_BYTES])
            elif text := line.strip():
                text = line.removesuffix(b"\n").removesuffix(b"\r")
                yield Document(
                    f"{name}:{position + 1}",
                    # A byte order mark stands at a file's beginning only.
                    decode(text) if not offset else text.decode("utf-8", "surrogateescape"),
                    position=position,
                    byte_offset=offset,
                    end_offset=end,
                )
            position += 1
            offset = end


def read_line(
    stream: BufferedIOBase, limit: int | None, line_end: bytes = b"\n"
) -> tuple[bytes, int]:
    """Return a line, cut where it is longer than the limit, and its whole size.

    Args:
        stream: Bytes from a line's beginning on.
        limit: Most bytes of a line without its end; None: no limit.
        line_end: LF in the encoding of the bytes; of several bytes in UTF-16 and UTF-32.
    """
    if len(line_end) > 1:
        return _read_wide_line(stream, limit, line_end)
    if limit is None:
        line = stream.readline()
        return line, len(line)
    # The line end, CR LF at most, does not count.
    line = stream.readline(limit + 2)
    size = len(line)
    if line.endswith(b"\n") and (size <= limit or len(line.rstrip(b"\r\n")) <= limit):
        return line, size
    part = line
    while part and not part.endswith(b"\n"):
        part = stream.readline(_PIECE)
        size += len(part)
    return (line if size <= limit else line[:limit]), size


def _read_wide_line(
    stream: BufferedIOBase, limit: int | None, line_end: bytes
) -> tuple[bytes, int]:
    width = len(line_end)
    # The byte of LF may be a part of another character, and may be the first of its own.
    behind = width - 1 if line_end[0] else 0
    most = None if limit is None else limit + 2 * width
    kept = bytearray()
    last = b""
    size = 0
    while piece := stream.readline(_PIECE):
        if behind and piece.endswith(b"\n") and (size + len(piece)) % width == 1:
            piece += stream.read(behind)
        size += len(piece)
        kept += piece if most is None else piece[: max(0, most - len(kept))]
        last = (last + piece)[-width:]
        if last == line_end and size % width == 0:
            break
    if limit is None or size <= limit:
        return bytes(kept), size
    ends = width * (1 + kept.endswith(line_end.replace(b"\n", b"\r") + line_end))
    within = size == len(kept) and last == line_end and size - ends <= limit
    return (bytes(kept) if within else bytes(kept[:limit])), size
