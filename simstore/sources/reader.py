"""The protocol of a reader, which turns the bytes of one format into records."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Literal, Protocol, TypedDict

from simstore.errors import InvalidParameter
from simstore.model.arguments import check_fields
from simstore.sources.source import MAX_DOCUMENT_BYTES, MAX_EXPANSION, Record

# What a read can be asked for, with room for line ends.
_MOST_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class HistoryFields:
    """Names of the fields for times and links of a record.

    >>> read = ReadOptions(history_fields=HistoryFields(seen="crawled"))
    >>> page = {"id": "soup", "text": "Boil.", "crawled": "2025-05-01"}
    >>> store.add_many([page], read=read).added
    1
    >>> store.get("soup").first_seen
    1746057600

    A field that is named is no metadata; a record may lack it.

    Attributes:
        seen: When the source saw the document; None: no field says so.
        published: When the document was published.
        links: Keys that it links to: a string, or a list of strings.
    """

    seen: str | None = None
    published: str | None = None
    links: str | None = None

    def __bool__(self) -> bool:
        return bool(self.seen or self.published or self.links)


@dataclass(frozen=True, slots=True)
class SourceFields:
    """Names of the fields for title, author, date and address of a record.

    >>> fields = SourceFields(title="head", author="by")
    >>> read = ReadOptions(source_fields=fields)
    >>> page = {"id": "a", "text": "Boil.", "head": "Soup", "by": "Ann"}
    >>> store.add_many([page], read=read).added
    1
    >>> store.get("a").title, store.get("a").metadata
    ('Soup', {'author': 'Ann'})

    They are shown where the document is a source of a copy. The title is the
    document's; the others become the metadata ``author``, ``date`` and ``url``.
    A record that has another field of such a name keeps it with ``_given``
    behind the name.

    Attributes:
        title: Its title; None: ``title``.
        author: Who wrote it; None: ``author``, ``authors``, ``byline`` or
            ``creator``, as they are.
        date: When it was published; None: ``date``, ``published`` or the
            like.
        url: Its address; None: ``url``, ``link`` or ``canonical``, or the
            key where it is one.
    """

    title: str | None = None
    author: str | None = None
    date: str | None = None
    url: str | None = None

    def __bool__(self) -> bool:
        return bool(self.title or self.author or self.date or self.url)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading sources.

    >>> read = ReadOptions(key_field="isbn", text_field="blurb")
    >>> record = {"isbn": "0-14-000001-0", "blurb": "A ferry is late."}
    >>> store.add_many([record], read=read).added
    1

    Raises:
        InvalidParameter: A number is out of its range.

    Attributes:
        format: Name of a reader, or ``auto``: by content, then by name.
        texts_are_articles: A ``.txt`` file is an article file (stores of the
            scheme ``simtool``).
        max_document_bytes: Longer records are rejected; None: no limit.
        key_field: Field that holds the key, where records have fields; a dotted
            path leads into objects. None: the usual ones.
        text_field: Field that holds the text; None: the usual ones.
        history_fields: Fields that hold times and links.
        source_fields: Fields that hold title, author, date and address.
        max_expansion: Most bytes that a compressed one may become, on the
            whole; what expands to less than 100 MB is never refused. None: no
            limit.
        extract: Of web pages, the main text or all text.
        encoding: ``auto``: what is not UTF-8 and declares no encoding is read
            in the one that it is recognised to be in, and rejected where that
            is not certain; ``keep``: bytes of plain texts that are not UTF-8
            are kept as they are; else the name of the encoding of texts and
            pages, as :func:`~.encodings.checked_codec` returns it. Of pages
            ``keep`` is ``auto``; where texts are articles, ``auto`` is
            ``keep``.
    """

    format: str = "auto"
    texts_are_articles: bool = False
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES
    key_field: str | None = None
    text_field: str | None = None
    history_fields: HistoryFields = field(default_factory=HistoryFields)
    max_expansion: int | None = MAX_EXPANSION
    extract: Literal["main", "all"] = "main"
    encoding: str = "auto"
    source_fields: SourceFields = field(default_factory=SourceFields)

    def __post_init__(self) -> None:
        check_fields(self)
        most = self.max_document_bytes
        if most is not None and not 1 <= most <= _MOST_BYTES:
            raise InvalidParameter(f"max document bytes: it must be 1 to {_MOST_BYTES:,}")

    @property
    def keeps_bytes(self) -> bool:
        """Return whether bytes that are not UTF-8 are preserved."""
        return self.encoding == "keep" or (self.encoding == "auto" and self.texts_are_articles)

    @property
    def named_encoding(self) -> str | None:
        """Return the encoding of all texts and pages; None: none is named."""
        return None if self.encoding in ("keep", "auto") else self.encoding


class ReadKeywords(TypedDict, total=False):
    """Keyword arguments for reading, as described in :class:`ReadOptions`."""

    format: str
    texts_are_articles: bool
    max_document_bytes: int | None
    key_field: str | None
    text_field: str | None
    history_fields: HistoryFields
    max_expansion: int | None
    extract: Literal["main", "all"]
    encoding: str
    source_fields: SourceFields


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request to a reader: the source, where to begin, and the options.

    Attributes:
        name: The source's name, for rejections and keys.
        position: Number of the first record that is wanted, from 0.
        byte_offset: Where it begins in the (decompressed) source, as a record before it told.
        options: How to read.
        head: The first bytes of the source, whatever the position; at most 64 KiB.
        is_lean: Of records with fields, key and text alone are wanted.
    """

    name: str
    position: int = 0
    byte_offset: int = 0
    options: ReadOptions = field(default_factory=ReadOptions)
    head: bytes = b""
    is_lean: bool = False


def sees_bytes(scheme: str) -> bool:
    """Return whether a scheme fingerprints bytes of texts, whatever encoding they are in.

    Args:
        scheme: Its name or label; that of the course tool is ``simtool``.
    """
    return scheme.partition("/")[0] == "simtool"


class SourceReader(Protocol):
    """Reads one format. It holds nothing of a source: one object reads any number of them.

    Packages add readers by an entry point of the group ``simstore.readers``: a class that is called
    without arguments, or an object.
    """

    @property
    def name(self) -> str:
        """Name of the format, as ``--as`` takes it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of names, in lower case, without those of compression: ``.csv``."""

    @property
    def needs_file(self) -> bool:
        """Return whether ``read`` needs a seekable stream.

        Such a stream always stands at the source's start; a compressed or piped source is written
        to a temporary file first.
        """

    @property
    def record_ends(self) -> tuple[bytes, ...]:
        """Record separators of files that grow; empty: such files do not grow.

        A file that has become longer is read on from where it ended, if the last record ended so;
        where there is none of these, it is read from its start.
        """

    def recognises(self, head: bytes) -> bool:
        """Return whether a source is of this format, by its first bytes (at most 64 KiB).

        Asked of readers that need a file before anything else, so it must not be mistaken; of the
        others where the name tells nothing.
        """

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the records from the one that is asked for on, in the source's order.

        Each has its position, and in ``end_offset`` what ``byte_offset`` shall be to read on after
        it. Packages that are not of the core are imported here.

        Args:
            stream: The decompressed bytes: from ``request.byte_offset`` on; all, where
                ``needs_file`` is true.
            request: What is wanted.

        Raises:
            MissingExtra: A package is not installed.
            DamagedStream: The bytes break off before the first record that is wanted.
        """


def is_installed(package: str) -> bool:
    """Return whether a package that a reader needs can be imported, without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
