"""The registry of readers: choose one by a source's first bytes, then by its name."""

from __future__ import annotations

import fnmatch
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from simstore.errors import InvalidParameter
from simstore.model import Document, Ignored, Rejection
from simstore.sources.documents import as_stored
from simstore.sources.encoding_detection import why_binary, wide_encoding
from simstore.sources.reader import ReadOptions, ReadRequest, SourceReader
from simstore.sources.source import HEAD_BYTES, Record
from simstore.sources.streams import STANDARD_INPUT, base_name, sought
from simstore.sources.unpacking import DamagedStream, prefixed

ENTRY_POINTS = "simstore.readers"
# Why a file is passed over whose name says nothing of how it is read.
TYPE_UNKNOWN = "its type is not known"
# What an older Word document begins with, and any that is protected by a password. They are
# recognised to be refused: they are no text.
COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
PAGE_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?xml[^>]*>|<!--.*?-->)*<(?:!doctype\s+html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
# An array of objects, and an object that is written over several lines: its first ends with a brace
# or a comma, and the next begins with a name.
_RECORDS_BEGINNING = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*\{\s*["}]|\{(?:[ \t]*"[^\r\n]*[,{])?[ \t]*\r?\n\s*")'
)
_OBJECT_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*["}]')
# The names of fields, one of them that of a text, with one separator.
_ROW_OF_NAMES = re.compile(
    rb"""(?x) (?:\xef\xbb\xbf)? (?= ["\w.-]+ ([,;\t|]) )
    (?: "?[\w.-]{1,40}"? \1 ){0,99} "?(?:text|content|body)"?
    (?: \1 "?[\w.-]{1,40}"? ){0,99} \r?\n"""
)
_LINE_ENDS = (b"\n", b"\n\0")
_TEXT_SUFFIXES = (".txt",)
_TAR_SUFFIXES = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_ARCHIVE_SUFFIXES = (".zip", *_TAR_SUFFIXES)
_TAR_BLOCK = 512
_ARTICLE_NAMES = ("article*.txt", "sample*.txt")
# Bytes at a source's beginning that tell its format, and its identity.
HEAD = 65_536
# Why a source without a byte is passed over.
IS_EMPTY = "it is empty"
# Readers of plain text: whether they keep bytes that are not UTF-8 changes what they read.
_OF_TEXT = ("text", "markdown", "lines")
_MAY_KEEP_BYTES = (*_OF_TEXT, "articles")
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class BuiltInReader:
    """A reader of this package, whose module is imported when it reads.

    Attributes:
        name: What ``--as`` takes.
        module: The module of ``simstore.sources`` that reads.
        function: What reads there, of a stream and a request.
        suffixes: Endings of names.
        needs_file: Whether it wants a stream that can be sought.
        record_ends: What stands at the end of a record in files that grow.
        beginning: Tells whether bytes are the beginning of such a file; None: nothing tells it.
    """

    name: str
    module: str
    function: str = "read"
    suffixes: tuple[str, ...] = ()
    needs_file: bool = False
    record_ends: tuple[bytes, ...] = ()
    beginning: Callable[[bytes], object] | None = None

    def recognises(self, head: bytes) -> bool:
        """Return whether a source is of this format, by its first bytes."""
        return self.beginning is not None and bool(self.beginning(head))

    def read(self, stream: io.BufferedReader, request: ReadRequest) -> Iterator[Record]:
        """Yield the records from the one that is asked for on."""
        module = import_module(f"simstore.sources.{self.module}")
        records: Iterator[Record] = getattr(module, self.function)(stream, request)
        return records


def _begins_as_word_document(head: bytes) -> bool:
    first = head[:200]
    is_package = b"[Content_Types].xml" in first or b"_rels/.rels" in first
    return head.startswith(COMPOUND_FILE) or (
        head.startswith(b"PK\x03\x04") and is_package and b"word/document.xml" in head
    )


_ARTICLES = BuiltInReader("articles", "articles", record_ends=(b"\f",))
_TEXT = BuiltInReader("text", "plain")
# Those that read files before those that read streams; an earlier one is asked first.
BUILT_IN: tuple[SourceReader, ...] = (
    BuiltInReader(
        "parquet", "columnar", "read_parquet", (".parquet", ".pq"),
        needs_file=True, beginning=re.compile(rb"PAR1").match,
    ),
    BuiltInReader(
        "arrow", "columnar", "read_arrow", (".arrow", ".arrows", ".feather", ".ipc"),
        needs_file=True, beginning=re.compile(rb"ARROW1").match,
    ),
    BuiltInReader(
        "docx", "office", suffixes=(".docx",), needs_file=True, beginning=_begins_as_word_document,
    ),
    BuiltInReader(
        "pdf", "pdf", suffixes=(".pdf",), needs_file=True, beginning=re.compile(rb"%PDF-").match,
    ),
    BuiltInReader(
        "warc", "warc", suffixes=(".warc", ".wet"), record_ends=(b"\r\n\r\n",),
        beginning=re.compile(rb"WARC/\d\.\d{1,2}[ \t]*\r?\n").match,
    ),
    BuiltInReader(
        "html", "web", suffixes=(".html", ".htm", ".xhtml"), beginning=PAGE_BEGINNING.match,
    ),
    BuiltInReader("json", "json_records", beginning=_RECORDS_BEGINNING.match),
    BuiltInReader(
        "jsonl", "json_records", "read_lines", (".jsonl", ".ndjson"), record_ends=_LINE_ENDS,
        beginning=_OBJECT_BEGINNING.match,
    ),
    BuiltInReader(
        "csv", "delimited", suffixes=(".csv", ".tsv", ".tab"), record_ends=_LINE_ENDS,
        beginning=_ROW_OF_NAMES.match,
    ),
    _ARTICLES,
    BuiltInReader("lines", "lines", record_ends=_LINE_ENDS),
    BuiltInReader("markdown", "plain", "read_markdown", (".md", ".markdown")),
    _TEXT,
)  # fmt: skip
FORMATS = ("auto", *(reader.name for reader in BUILT_IN))


def reader_named(name: str) -> SourceReader:
    """Return the reader that ``--as`` names.

    Raises:
        InvalidParameter: There is none.
    """
    for reader in BUILT_IN:
        if reader.name == name:
            return reader
    for reader in added_readers():
        if reader.name == name:
            return reader
    names = (*FORMATS, *(reader.name for reader in added_readers()))
    raise InvalidParameter(f"no reader is called {name!r}: choose one of {', '.join(names)}")


def choose_reader(
    name: str, head: bytes, options: ReadOptions, are_articles: Callable[[], bool]
) -> SourceReader:
    """Return the reader of a source.

    By ``options.format``; else a reader of files that recognises the first bytes; else by the
    name's ending; else a reader of streams that recognises the first bytes, decoded where they are
    UTF-16 or UTF-32; else it is text: an article file where the store's scheme or the ids of its
    pages say so. A ``.txt`` file is text whatever it begins with, if no reader of files recognises
    it.

    Args:
        name: Name of the source.
        head: Its first bytes, decompressed.
        options: How to read.
        are_articles: Tells whether form feeds surely separate articles in the source
            (:func:`~.articles.holds_articles`).

    Raises:
        InvalidParameter: The format has no reader.
    """
    if options.format != "auto":
        return reader_named(options.format)
    base = base_name(name)
    for reader in BUILT_IN:
        if reader.needs_file and reader.recognises(head):
            return reader
    if is_article_name(name):
        return _ARTICLES
    wide = None if options.texts_are_articles else wide_encoding(head)
    if not base.lower().endswith(_TEXT_SUFFIXES):
        named = _by_suffix(base, BUILT_IN)
        if named is not None:
            return named
        if not (options.texts_are_articles and name != STANDARD_INPUT):
            shown = head if wide is None else head.decode(wide, "replace").encode()
            for reader in BUILT_IN:
                if not reader.needs_file and reader.recognises(shown):
                    return reader
        added = _by_suffix(base, added_readers())
        if added is not None:
            return added
        for reader in added_readers():
            if reader.recognises(head):
                return reader
    # In UTF-16 and UTF-32 the byte of a form feed is a part of other characters.
    if options.texts_are_articles or (wide is None and are_articles()):
        return _ARTICLES
    return _TEXT


def archive_kind(name: str, head: bytes, options: ReadOptions) -> str | None:
    """Return ``zip`` or ``tar`` where a source is an archive that is read member by member.

    What a reader of files claims, by content or name, is none (office documents are zip archives).

    Args:
        name: Name of the source.
        head: Its first bytes, decompressed.
        options: How to read.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kind = "zip"
    elif _is_tar(head) or _is_empty_tar(name, head):
        kind = "tar"
    else:
        return None
    if options.format != "auto":
        reader = reader_named(options.format)
        return None if reader.needs_file and reader.recognises(head) else kind
    named = named_reader(name)
    claimed = named is not None and named.needs_file
    return None if claimed or any(r.needs_file and r.recognises(head) for r in BUILT_IN) else kind


def _is_tar(head: bytes) -> bool:
    """Return whether a block is the header of a tar archive, by its checksum."""
    block = head[:_TAR_BLOCK]
    if len(block) < _TAR_BLOCK or not block[0]:
        return False
    try:
        checksum = int(block[148:156].strip(b" \x00"), 8)
    except ValueError:
        return False
    return checksum == sum(block) - sum(block[148:156]) + 8 * ord(" ")


def _is_empty_tar(name: str, head: bytes) -> bool:
    """Return whether a file that is called a tar archive begins with the end of one: two blocks."""
    end = head[: 2 * _TAR_BLOCK]
    return (
        base_name(name).lower().endswith(_TAR_SUFFIXES)
        and len(end) == 2 * _TAR_BLOCK
        and not any(end)
    )


def is_article_name(path: str) -> bool:
    """Return whether a file is called as an article file."""
    base = base_name(path)
    return any(fnmatch.fnmatch(base, pattern) for pattern in _ARTICLE_NAMES)


def is_known(path: str) -> bool:
    """Return whether the ending of a name says how a file is read."""
    base = base_name(path)
    return (
        base.lower().endswith(_TEXT_SUFFIXES + _ARCHIVE_SUFFIXES)
        or named_reader(path) is not None
        or _by_suffix(base, added_readers()) is not None
    )


@cache
def added_readers() -> tuple[SourceReader, ...]:
    """Return the readers that other packages add, in the order of their names.

    Raises:
        InvalidParameter: One cannot be loaded.
    """
    from importlib.metadata import entry_points

    found: list[SourceReader] = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            loaded = point.load()
            found.append(loaded() if isinstance(loaded, type) else loaded)
        except Exception as error:
            raise InvalidParameter(
                f"the reader {point.name} ({point.value}) cannot be loaded: {error}; "
                "uninstall or repair the package that adds it"
            ) from error
    return tuple(found)


def named_reader(name: str) -> SourceReader | None:
    """Return the built-in reader that the ending of a name tells; None: it tells none."""
    return _by_suffix(base_name(name), BUILT_IN)


def _by_suffix(base: str, readers: Sequence[SourceReader]) -> SourceReader | None:
    lower = base.lower()
    return next((reader for reader in readers if lower.endswith(reader.suffixes)), None)


def look_ahead(
    stream: io.BufferedReader, name: str, options: ReadOptions
) -> tuple[SourceReader, bytes, io.BufferedReader]:
    """Return the reader of a stream, its first bytes, and the stream from its start.

    To tell article files from texts, as much is read as a document may have at most.
    """
    damage: DamagedStream | None = None
    ended = False
    parts = bytearray()

    def read_on() -> bytes:
        nonlocal damage, ended
        data = b""
        if not ended:
            try:
                data = stream.read1(_PIECE)
            except DamagedStream as error:
                damage = error
            ended = not data
            parts.extend(data)
        return data

    def pieces() -> Iterator[bytes]:
        yield bytes(parts)
        limit = options.max_document_bytes
        while (limit is None or len(parts) <= limit) and (data := read_on()):
            yield data

    def are_articles() -> bool:
        from simstore.sources.articles import holds_articles

        return holds_articles(pieces())

    while len(parts) < HEAD and read_on():
        pass
    head = bytes(parts[:HEAD])
    reader = choose_reader(name, head, options, are_articles)
    return reader, head, prefixed(bytes(parts), stream, damage)


def read_with(
    reader: SourceReader, stream: io.BufferedReader, request: ReadRequest
) -> Iterator[Record]:
    """Yield the records of a stream; one that must be sought becomes a file.

    A source that holds nothing, or no record, is told as passed over.

    Raises:
        DamagedStream: The bytes break off before the first record that is wanted.
    """
    if not request.head and not request.position and not stream.peek(1):
        yield Ignored(request.name, 0, 0, 0, IS_EMPTY, is_source=True)
        return
    refused = _why_refused(reader, request)
    if refused is not None:
        if not request.position:
            yield Rejection(request.name, 0, 0, 0, refused, request.head[:HEAD_BYTES])
        return
    found = False
    with sought(stream, request.name) if reader.needs_file else nullcontext(stream) as opened:
        for record in reader.read(opened, request):
            found = True
            yield _as_stored(record, request.name)
    if not found and not request.position:
        yield Ignored(request.name, 0, 0, 0, "no document in it", is_source=True)


def _why_refused(reader: SourceReader, request: ReadRequest) -> str | None:
    """Return why a source is rejected before it is read, by its first bytes; None: it is not."""
    options = request.options
    if reader.name == "docx" and request.head.startswith(COMPOUND_FILE):
        return (
            "it is an older Word document (.doc), or protected by a password: "
            "save it as .docx, without a password"
        )
    is_text = reader.name in _OF_TEXT and not options.keeps_bytes
    return why_binary(request.head) if is_text and options.named_encoding is None else None


def _as_stored(record: Record, name: str) -> Record:
    """Return a record; where it is a document that cannot be stored, its rejection."""
    if not isinstance(record, Document):
        return record
    try:
        return as_stored(record)
    except ValueError as error:
        return Rejection(
            name, record.position or 0, record.byte_offset or 0, record.end_offset or 0,
            str(error),
        )  # fmt: skip


def reader_label(reader: str, options: ReadOptions) -> str:
    """Return a name for a reader and its options: what another one reads is read anew."""
    fields = f"{options.key_field} {options.text_field}"
    if options.history_fields:
        history = options.history_fields
        fields += f" {history.seen} {history.published} {history.links}"
    if options.source_fields:
        about = options.source_fields
        fields += f" about {about.title} {about.author} {about.date} {about.url}"
    if options.extract != "main":
        fields += f" {options.extract}"
    if options.named_encoding is not None:
        fields += f" {options.named_encoding}"
    elif reader in _MAY_KEEP_BYTES and not options.keeps_bytes:
        fields += " auto"
    return f"{reader} {options.max_document_bytes} {fields}"[:200]
