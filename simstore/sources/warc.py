"""Read web archives (WARC and WET, ISO 28500), record by record."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from simstore.errors import MissingExtra
from simstore.model import Document, Ignored, Rejection
from simstore.model.times import seconds
from simstore.sources.reader import ReadRequest
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.unpacking import DamagedStream
from simstore.sources.web import is_page, page_record, text_record

try:
    from compression import zstd
except ImportError:
    from backports import zstd

_STATUS = re.compile(rb"HTTP/\d{1,2}(?:\.\d{1,2})?[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.IGNORECASE)
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_ANY_ZLIB, _RAW_DEFLATE = 47, -15


class UnreadableBody(ValueError):
    """A body is not in the coding that its headers tell, or becomes too long; says why."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response: its status, its headers by their names in lower case, and its body as sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """Return the declared media type, in lower case; empty where none is declared."""
        return media_type(self.headers.get("content-type", ""))


def parse_response(data: bytes) -> Response | None:
    """Parse an HTTP response; None where the bytes are none."""
    status = _STATUS.match(data)
    if status is None:
        return None
    found = _HEADER_END.search(data)
    if found is None:
        return Response(int(status[1]), parse_headers(data), b"")
    headers = parse_headers(data[: found.start()])
    return Response(int(status[1]), headers, data[found.end() :])


def parse_headers(block: bytes) -> dict[str, str]:
    """Return the headers of a block whose first line is none, by their names in lower case.

    Of headers that come twice the first counts; what is no header is passed over.
    """
    headers: dict[str, str] = {}
    name = ""
    for line in block.split(b"\n")[1:]:
        if line[:1] in (b" ", b"\t") and name:
            # The header goes on.
            headers[name] += " " + line.strip().decode("latin-1")
            continue
        head, colon, value = line.partition(b":")
        name = ""
        if colon and (found := head.strip().lower().decode("latin-1")) not in headers:
            name = found
            headers[name] = value.strip().decode("utf-8", "replace")
    return headers


def media_type(content_type: str) -> str:
    """Return the type of a ``Content-Type`` without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def charset(content_type: str) -> str | None:
    """Return the encoding that a ``Content-Type`` names."""
    found = _CHARSET.search(content_type)
    return found[1] if found else None


def plain_body(response: Response, limit: int | None) -> bytes:
    """Return the body freed of its transfer and content codings.

    Archives keep bodies as they were sent, or freed already with the headers as they were; so what
    is not in the coding told, by its first bytes, is taken as it is.

    Args:
        response: As it was sent.
        limit: Most bytes of a body; None: no limit.

    Raises:
        UnreadableBody: It breaks off, is damaged, or has more bytes.
        MissingExtra: It is in Brotli, and the library for it is not installed.
    """
    body = response.body
    if "chunked" in response.headers.get("transfer-encoding", "").lower():
        body = _unchunked(body)
    codings = response.headers.get("content-encoding", "").lower().split(",")
    for coding in reversed([one.strip() for one in codings]):
        if not body:
            break
        try:
            if coding in ("gzip", "x-gzip") and body.startswith(b"\x1f\x8b"):
                body = _inflated(body, _ANY_ZLIB, limit)
            elif coding == "deflate":
                # Some servers send it without the header that it should have.
                has_header = body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0
                body = _inflated(body, _ANY_ZLIB if has_header else _RAW_DEFLATE, limit)
            elif coding == "zstd" and body.startswith(b"\x28\xb5\x2f\xfd"):
                with zstd.ZstdFile(io.BytesIO(body)) as file:
                    body = file.read(-1 if limit is None else limit + 1)
            elif coding == "br":
                body = _of_brotli(body, limit)
        except (zlib.error, zstd.ZstdError, EOFError, OSError) as error:
            raise UnreadableBody(f"its body is no {coding}: {str(error)[:100]}") from None
    if limit is not None and len(body) > limit:
        raise UnreadableBody(f"its body has more bytes than the limit of {limit:,}")
    return body


def _inflated(body: bytes, window_bits: int, limit: int | None) -> bytes:
    most = 0 if limit is None else limit + 1
    parts: list[bytes] = []
    size = 0
    while body:
        inflater = zlib.decompressobj(window_bits)
        part = inflater.decompress(body, most - size if most else 0)
        parts.append(part)
        size += len(part)
        if most and size >= most:
            break
        if not inflater.eof:
            raise UnreadableBody("its body breaks off in its compression")
        body = inflater.unused_data
        if not body.startswith(b"\x1f\x8b"):
            # Anything may follow; another member belongs to it.
            break
    return b"".join(parts)


def _of_brotli(body: bytes, limit: int | None) -> bytes:
    try:
        from fastwarc.stream_io import BrotliReader
    except ImportError:
        raise MissingExtra("reading bodies in Brotli", "web") from None
    data: bytes = BrotliReader(io.BytesIO(body)).read(-1 if limit is None else limit + 1)
    return data


def _unchunked(body: bytes) -> bytes:
    if _CHUNK.match(body) is None:
        return body
    parts: list[bytes] = []
    place = 0
    while (found := _CHUNK.match(body, place)) is not None:
        size = int(found[1], 16)
        if not size:
            return b"".join(parts)
        part = body[found.end() : found.end() + size]
        parts.append(part)
        place = found.end() + size
        if len(part) < size:
            break
        while body[place : place + 1] in (b"\r", b"\n") and place < len(body):
            place += 1
    raise UnreadableBody("its body breaks off between its chunks")


_VERSION = re.compile(rb"WARC/\d\.\d{1,2}[ \t]*\r?\n")
# Headers of a record, all lines together.
_MOST_HEADER_BYTES = 1 << 20
_LINE = 65_536
# Besides its body a response has headers; and what is compressed is shorter, so no document that
# is within its limit is lost.
_RESPONSE_HEADERS = 1 << 16
_READ = ("response", "resource", "conversion", "revisit")


def read(stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield the documents of WARC, and of WET, its form with texts.

    A document is a response of HTTP with status 200 to 299, a resource, or a conversion, of a page
    (its main text is taken) or of plain text. Its key is the target URI, it was seen at
    ``WARC-Date``; its metadata has the record's id and its byte offset. Other responses and other
    types are passed over, as are revisits, which say that a document was seen again; records about
    records (``warcinfo``, ``request``, ``metadata``) are not told.

    Each record is taken out by its length. Where no record begins there, all up to the next line
    that begins one is rejected. The library of the field was not taken for this: at the first
    malformed record it ends.

    Raises:
        MissingExtra: Pages are in it, and resiliparse is not installed.
    """
    records = _Records(stream, request)
    while (found := records.next()) is not None:
        yield from (found,) if isinstance(found, Rejection) else _record_of(found, request)


@dataclass(slots=True)
class Framed:
    """A record as it stands in the archive."""

    position: int
    start: int
    end: int
    headers: dict[str, str]
    content: bytes

    @property
    def kind(self) -> str:
        """Return its ``WARC-Type``, in lower case."""
        return self.headers.get("warc-type", "").lower()


class _Records:
    """Takes records out of a stream, one by one, and knows where each begins and ends."""

    def __init__(self, stream: io.BufferedReader, request: ReadRequest) -> None:
        self._stream = stream
        self._name = request.name
        self._position = request.position
        self._offset = request.byte_offset
        # A line that begins a record, read while what stood before it was passed over.
        self._line = b""
        limit = request.options.max_document_bytes
        self._most = None if limit is None else limit + _RESPONSE_HEADERS
        self._limit = limit
        self._ended = False
        # Comes right behind a record that is whole.
        self._damage: DamagedStream | None = None

    def next(self) -> Framed | Rejection | None:
        """Return the next record; why there is none here; or None at the end."""
        if self._ended:
            return None
        start = self._offset
        content = b""
        try:
            if self._damage is not None:
                raise self._damage
            line = self._first_line()
            if not line:
                return None
            if _VERSION.fullmatch(line) is None:
                return self._passed(self._offset - len(line), line)
            start = self._offset - len(line)
            block = self._header_block(line)
            headers = parse_headers(block)
            length = headers.get("content-length", "")
            if not (length.isascii() and length.isdigit() and len(length) < 19):
                return self._refused(start, "a record without a usable Content-Length", block)
            size = int(length)
            kind = headers.get("warc-type", "").lower()
            if kind not in _READ or (self._most is not None and size > self._most):
                content = self._stream.read(min(size, HEAD_BYTES))
                self._skip(size - len(content), len(content))
                if kind in _READ:
                    return self._refused(start, _too_long(size, self._limit or 0), content)
            else:
                content = self._stream.read(size)
                self._offset += len(content)
                if len(content) < size:
                    return self._broken_off(start, content or block)
            end = self._end_or_damage()
        except DamagedStream as error:
            self._ended = True
            return Rejection(self._name, self._position, start, start, error.reason, content)
        self._position += 1
        return Framed(self._position - 1, start, end, headers, content)

    def _first_line(self) -> bytes:
        line, self._line = self._line, b""
        while not line or (line and not line.strip()):
            line = self._stream.readline(_LINE)
            self._offset += len(line)
            if not line:
                break
        return line

    def _header_block(self, line: bytes) -> bytes:
        lines = [line]
        size = len(line)
        while line.strip() and size <= _MOST_HEADER_BYTES:
            line = self._stream.readline(_LINE)
            size += len(line)
            self._offset += len(line)
            lines.append(line)
            if not line:
                break
        return b"".join(lines)

    def _skip(self, size: int, taken: int) -> None:
        """Pass over the rest of a content of which some was taken.

        Raises:
            DamagedStream: It breaks off.
        """
        self._offset += taken
        while size:
            piece = len(self._stream.read(min(size, 1 << 20)))
            if not piece:
                raise DamagedStream(self._name, "the last record breaks off")
            self._offset += piece
            size -= piece

    def _end(self) -> int:
        """Pass over the two line ends after a record; return where the next begins."""
        for _ in range(2):
            line = self._stream.readline(_LINE)
            self._offset += len(line)
            if line.strip():
                self._line = line
                return self._offset - len(line)
        return self._offset

    def _end_or_damage(self) -> int:
        """Return the end of a whole record; damage behind it is reported afterwards."""
        try:
            return self._end()
        except DamagedStream as error:
            self._damage = error
            return self._offset

    def _refused(self, start: int, reason: str, head: bytes) -> Rejection:
        self._position += 1
        place = self._position - 1
        return Rejection(self._name, place, start, self._offset, reason, head[:HEAD_BYTES])

    def _broken_off(self, start: int, head: bytes) -> Rejection:
        self._ended = True
        return self._refused(start, "the last record breaks off", head)

    def _passed(self, start: int, line: bytes) -> Rejection:
        """Pass over what is no record, up to a line that begins one."""
        head = line
        while line and _VERSION.fullmatch(line) is None:
            line = self._stream.readline(_LINE)
            self._offset += len(line)
        self._line = line
        found = self._refused(start, "no record begins here", head)
        return replace(found, end_offset=self._offset - len(line))


def _too_long(size: int, limit: int) -> str:
    return f"the record has {size:,} bytes, more than the limit of {limit:,}"


def _record_of(found: Framed, request: ReadRequest) -> Iterator[Record]:
    """Yield what a record is: a document, a rejection, something passed over, or nothing."""
    headers, kind, name = found.headers, found.kind, request.name
    if kind not in _READ:
        return
    place = (found.position, found.start, found.end)

    def refused(reason: str) -> Rejection:
        return Rejection(name, *place, reason, found.content[:HEAD_BYTES])

    def passed_over(reason: str) -> Ignored:
        return Ignored(f"{name}: {key}" if key else name, *place, reason)

    key = headers.get("warc-target-uri", "").strip().removeprefix("<").removesuffix(">")
    if not key:
        yield refused("a record without WARC-Target-URI")
        return
    date = headers.get("warc-date", "")
    try:
        seen_at = seconds(date)
    except ValueError:
        yield refused("a record without a usable WARC-Date")
        return
    content_type, body, limit = (
        headers.get("content-type", ""),
        found.content,
        (request.options.max_document_bytes),
    )
    if kind != "response" and limit is not None and len(body) > limit:
        yield refused(_too_long(len(body), limit))
        return
    if kind == "revisit":
        # A server that answers "not modified" is revisited too.
        again = passed_over("it was seen again, and its text is not in this record")
        yield replace(again, seen_key=key, seen_at=seen_at)
        return
    if kind == "response" and media_type(content_type) != "application/http":
        yield passed_over("it is no response of HTTP")
        return
    if kind == "response":
        response = parse_response(body)
        if response is None:
            yield refused("no response of HTTP")
            return
        if not 200 <= response.status < 300:
            yield passed_over(f"its status is {response.status}")
            return
        content_type = response.headers.get("content-type", "")
        if not _is_read(content_type, response.body):
            yield passed_over(f"its type is {media_type(content_type) or 'not told'}")
            return
        try:
            body = plain_body(response, limit)
        except UnreadableBody as error:
            yield refused(str(error))
            return
    if not _is_read(content_type, body):
        yield passed_over(f"its type is {media_type(content_type) or 'not told'}")
        return
    metadata = {"warc_record_id": headers.get("warc-record-id", ""), "warc_offset": found.start}
    if "warc-truncated" in headers:
        metadata["warc_truncated"] = headers["warc-truncated"]
    if language := headers.get("warc-identified-content-language"):
        metadata["language"] = language
    blank = Document(
        key, "", metadata=metadata, position=found.position, byte_offset=found.start,
        end_offset=found.end, seen_at=seen_at,
    )  # fmt: skip
    make = page_record if is_page(media_type(content_type), body) else text_record
    made = make(body, blank, request.options, charset(content_type))
    yield refused(made) if isinstance(made, str) else made


def _is_read(content_type: str, body: bytes) -> bool:
    kind = media_type(content_type)
    return kind == "text/plain" or is_page(kind, body)
