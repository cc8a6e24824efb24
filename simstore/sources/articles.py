"""Read article files: pages separated by form feeds, the first line of each its ID."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader

from simstore.model import Document, Rejection
from simstore.sources.course import report_mark
from simstore.sources.encoding_detection import RecordDecoder, wide_encoding
from simstore.sources.encodings import Decoded, as_bytes, decoded_as, line_end_in
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, MAX_DOCUMENT_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.text.decoding import UTF8_BOM

_BLANKS = b" \t\n\v\f\r"
_FORM_FEED = b"\f"
_CHUNK = 1 << 20
# What surely is the id of a page, and no line of a text: one word of ASCII with a letter or digit.
_ID = re.compile(rb"(?=.*[A-Za-z0-9])[\x21-\x7e]{1,200}")
_LINE_END = re.compile(rb"[\r\n]")
_LONGEST_ID_LINE = 1_000


def read(stream: BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the pages of an article file.

    A byte order mark of UTF-8 is skipped and reported. A file of UTF-16 or UTF-32 is rejected, as
    the byte of a form feed is a part of other characters.
    """
    options = request.options
    wide = None if options.keeps_bytes else wide_encoding(request.head)
    wide = wide or options.named_encoding
    if wide is not None and len(line_end_in(wide)) > 1:
        reason = f"an article file in {wide.upper()}: save it as UTF-8, or read it with --as text"
        whole = Rejection(request.name, 0, 0, 0, reason, request.head[:HEAD_BYTES])
        return iter(() if request.position else (whole,))
    start = request.byte_offset
    if not start and request.head.startswith(UTF8_BOM):
        report_mark(request.name)
        start = len(stream.read(len(UTF8_BOM)))
    return read_articles(
        stream,
        request.name,
        position=request.position,
        byte_offset=start,
        max_document_bytes=request.options.max_document_bytes,
        decode_body=_decoding(request),
    )


def read_articles(
    stream: BufferedReader,
    name: str,
    *,
    position: int = 0,
    byte_offset: int = 0,
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    decode_body: Callable[[bytes], Decoded | str] = as_bytes,
) -> Iterator[Record]:
    """Yield the pages of an article file.

    White space before a page is skipped; the first line, without trailing blanks, is the page's
    key; the rest is its text. A chunk of white space alone is no page. Bytes of a key that are not
    UTF-8 are kept as they are.

    Args:
        stream: Bytes from ``byte_offset`` on, which is a page's beginning or the file's.
        name: The source's name, for rejections.
        position: Number of the first page that is yielded.
        byte_offset: Where the stream begins in the source.
        max_document_bytes: Longer pages are rejected, without being held; None: no limit.
        decode_body: Returns the text of a page, or why its encoding is not certain.
    """
    for page, start, end, reason in _chunks(stream, byte_offset, max_document_bytes):
        if reason is not None:
            yield Rejection(name, position, start, end, reason, page[:HEAD_BYTES])
        elif not page:
            continue
        else:
            key, body = split_page(page)
            found = decode_body(body)
            if isinstance(found, str):
                yield Rejection(name, position, start, end, found, page[:HEAD_BYTES])
            else:
                yield Document(
                    key.decode("utf-8", "surrogateescape"),
                    found.text,
                    metadata=found.metadata,
                    position=position,
                    byte_offset=start,
                    end_offset=end,
                )
        position += 1


def _decoding(request: ReadRequest) -> Callable[[bytes], Decoded | str]:
    options = request.options
    named = options.named_encoding
    if named is not None:
        return lambda body: decoded_as(body, named)
    return as_bytes if options.keeps_bytes else RecordDecoder(request.head).decoded


def holds_articles(pieces: Iterable[bytes]) -> bool:
    r"""Return whether form feeds in a text surely separate articles, and not pages of one text.

    There are two at least, and the first line of each is one word of ASCII that no other has. So
    licences, RFCs and what is made of a PDF are one text: their pages begin with sentences, or all
    with the same line, or with their numbers.

    >>> holds_articles([b"news-1\nA ferry.\fnews-2\nA harbour."])
    True
    >>> holds_articles([b"A licence\nfor all.\f\n  1. You may copy it."])
    False

    Args:
        pieces: The bytes of the text, from its start; no more are taken than are needed.
    """
    ids: dict[bytes, None] = {}
    line: bytes | None = b""
    for number, piece in enumerate(pieces):
        parts = (piece if number else piece.removeprefix(UTF8_BOM)).split(_FORM_FEED)
        for place, part in enumerate(parts):
            if place:
                if line and not _add_id(line, ids):
                    return False
                line = b""
            if line is None:
                continue
            line = (line + part).lstrip(_BLANKS)
            if (end := _LINE_END.search(line)) is not None:
                if not _add_id(line[: end.start()], ids):
                    return False
                line = None
            elif len(line) > _LONGEST_ID_LINE:
                return False
    if line and not _add_id(line, ids):
        return False
    return len(ids) > 1 and not _are_page_numbers(list(ids))


def _add_id(line: bytes, ids: dict[bytes, None]) -> bool:
    """Note the id that a line is; return whether it is one that no other page has."""
    found = line.rstrip(_BLANKS)
    if _ID.fullmatch(found) is None or found in ids:
        return False
    ids[found] = None
    return True


def _are_page_numbers(ids: list[bytes]) -> bool:
    """Return whether all are numbers, each one more than the last, as those of pages of a book."""
    if not all(one.isdigit() for one in ids):
        return False
    numbers = [int(one) for one in ids]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def split_page(page: bytes) -> tuple[bytes, bytes]:
    """Return id and body of a page that begins with its id.

    The id ends at the first CR or LF; the line end belongs to neither.
    """
    ends = [place for place in (page.find(b"\n"), page.find(b"\r")) if place >= 0]
    if not ends:
        return page.rstrip(b" \t"), b""
    end = min(ends)
    after = end + (2 if page[end : end + 2] == b"\r\n" else 1)
    return page[:end].rstrip(b" \t"), page[after:]


def _chunks(
    stream: BufferedReader, offset: int, limit: int | None
) -> Iterator[tuple[bytes, int, int, str | None]]:
    """Yield (page, start, end, reason to reject) for what stands between form feeds, in order.

    Without white space before it; ``end`` is after the form feed. Of a page above the limit only
    the first bytes are kept.
    """
    parts: list[bytes] = []
    size = 0
    start = offset
    damage: str | None = None
    while True:
        try:
            data = stream.read1(_CHUNK)
        except DamagedStream as error:
            damage, data = error.reason, b""
        pieces = data.split(_FORM_FEED)
        for number, whole_piece in enumerate(pieces):
            piece = whole_piece
            if not size:
                # White space before a page is skipped, however much there is.
                piece = whole_piece.lstrip(_BLANKS)
                start += len(whole_piece) - len(piece)
            if limit is None or size <= limit:
                parts.append(piece)
            size += len(piece)
            if number < len(pieces) - 1:
                end = start + size + 1
                yield b"".join(parts), start, end, _too_long(size, limit)
                parts, size, start = [], 0, end
        if not data:
            break
    rest = b"".join(parts)
    if damage is not None:
        yield rest, start, start + size, damage
    elif rest:
        yield rest, start, start + size, _too_long(size, limit)


def _too_long(size: int, limit: int | None) -> str | None:
    if limit is None or size <= limit:
        return None
    return f"the page has {size:,} bytes, more than the limit of {limit:,}"
