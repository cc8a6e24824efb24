"""Parse HTTP responses stored in web archives: headers and decoded bodies."""

from __future__ import annotations

import io
import re
import zlib
from dataclasses import dataclass

from simstore.errors import MissingExtra

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
