"""Read plain text files with one document a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BufferedIOBase, BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.encoding_detection import RecordDecoder, wide_encoding
from simstore.sources.encodings import Decoded, as_bytes, decoded_as, line_end_in
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream

_MARK = "\ufeff"
_BLANKS = " \t\r\n\v\f"
_PIECE = 1 << 20


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the document of each line of a plain text; the key is ``NAME:LINE``, from 1.

    Blank lines are skipped. The line end, LF or CR LF, does not belong to the text. The file's
    encoding is the one that is named, or UTF-16 or UTF-32, if it begins so; else each line is UTF-8
    or in the encoding that it, or the beginning of the file, is recognised to be in; where that is
    not certain, the line is rejected. Bytes that are not UTF-8 are kept as they are on request.
    """

    def document(line: Decoded, position: int, start: int, end: int) -> Document | None:
        text = line.text.removesuffix("\n").removesuffix("\r")
        # A byte order mark stands at a file's beginning only.
        text = text if start else text.removeprefix(_MARK)
        if not text.strip(_BLANKS):
            return None
        return Document(
            f"{request.name}:{position + 1}",
            text,
            metadata=line.metadata,
            position=position,
            byte_offset=start,
            end_offset=end,
        )

    return line_records(stream, request, *_decoding(request), document)


def line_records(
    stream: BufferedReader,
    request: ReadRequest,
    decode_line: Callable[[bytes], Decoded | str],
    line_end: bytes,
    made_of: Callable[[Decoded, int, int, int], Document | str | None],
) -> Iterator[Record]:
    """Yield the record made of each line of a file; line numbers count lines without one too.

    Args:
        stream: Bytes from ``request.byte_offset`` on, which is a line's beginning.
        request: What is wanted; longer lines than the limit are rejected, without being held.
        decode_line: Returns the text of a line, or why there is none.
        line_end: LF in the encoding of the file.
        made_of: Returns the document of a line, its number, first byte and end; None: there is none
            and need not be; or why there is none.
    """
    name, position, start = request.name, request.position, request.byte_offset
    limit = request.options.max_document_bytes
    while True:
        try:
            line, size = read_line(stream, limit, line_end)
        except DamagedStream as error:
            yield Rejection(name, position, start, start, error.reason)
            return
        if not size:
            return
        end = start + size
        made: Document | str | None
        if size > len(line):
            made = f"the line has {size:,} bytes, more than the limit of {limit:,}"
        elif isinstance(decoded := decode_line(line), str):
            made = decoded
        else:
            made = made_of(decoded, position, start, end)
        if isinstance(made, str):
            yield Rejection(name, position, start, end, made, line[:HEAD_BYTES])
        elif made is not None:
            yield made
        position += 1
        start = end


def _decoding(request: ReadRequest) -> tuple[Callable[[bytes], Decoded | str], bytes]:
    """Return the function that decodes a line, and LF in the file's encoding."""
    options = request.options
    wide = None if options.texts_are_articles else wide_encoding(request.head)
    named = options.named_encoding or wide
    if named is not None:
        return lambda line: decoded_as(line, named), line_end_in(named)
    if options.keeps_bytes:
        return as_bytes, b"\n"
    return RecordDecoder(request.head).decoded, b"\n"


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
