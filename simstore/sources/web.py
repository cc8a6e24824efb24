"""Read HTML files, and the pages and texts of web archives, as documents."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

from simstore.model import Document, Rejection
from simstore.sources.encoding_detection import decoded
from simstore.sources.encodings import Decoded, declared_encoding, decoded_as
from simstore.sources.plain import read_whole
from simstore.sources.reader import ReadOptions, ReadRequest
from simstore.sources.registry import PAGE_BEGINNING
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.web_pages import read_page

_PAGE_TYPES = ("text/html", "application/xhtml+xml")


def read(stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
    """Yield a web page as a document whose key is the file's name.

    Its text is the main one, or all that is visible (``extract``); title, canonical address,
    language, date and links: :class:`~.web_pages.Page`. The encoding: a byte order mark, what the
    page declares, UTF-8, else what it is recognised to be in; see
    :func:`~.encoding_detection.decoded`.

    Raises:
        MissingExtra: resiliparse is not installed.
    """
    if request.position:
        return
    data = read_whole(stream, request)
    if isinstance(data, Rejection):
        yield data
        return
    blank = Document(request.name, "", position=0, byte_offset=0, end_offset=len(data))
    made = page_record(data, blank, request.options, None)
    if isinstance(made, str):
        yield Rejection(request.name, 0, 0, len(data), made, data[:HEAD_BYTES])
    else:
        yield made


def is_page(media_type: str, body: bytes) -> bool:
    """Return whether bytes are a web page, by their media type if one is given."""
    return media_type in _PAGE_TYPES or (not media_type and PAGE_BEGINNING.match(body) is not None)


def page_record(
    data: bytes, blank: Document, options: ReadOptions, declared: str | None
) -> Document | str:
    """Return a document filled with what a page holds; or why there is none.

    Args:
        data: The page.
        blank: Key, place and further metadata.
        options: How to read.
        declared: The encoding that HTTP tells.
    """
    found = _text_of(data, options, declared or declared_encoding(data))
    if isinstance(found, str):
        return found
    address = blank.key if blank.key.startswith(("http://", "https://")) else None
    page = read_page(found.text, options.extract, address)
    if isinstance(page, str):
        return page
    return replace(
        blank,
        text=page.text,
        title=page.title,
        metadata={**page.metadata, **blank.metadata, **found.metadata},
        published_at=page.published_at,
        links=page.links,
    )


def text_record(
    data: bytes, blank: Document, options: ReadOptions, declared: str | None
) -> Document | str:
    """Return a document filled with a plain text from the web; or why there is none."""
    found = _text_of(data, options, declared)
    if isinstance(found, str):
        return found
    if "\0" in found.text:
        return "NUL bytes: it is no text"
    return replace(blank, text=found.text, metadata={**blank.metadata, **found.metadata})


def _text_of(data: bytes, options: ReadOptions, declared: str | None) -> Decoded | str:
    if options.named_encoding is not None:
        return decoded_as(data, options.named_encoding)
    return decoded(data, declared=declared)
