"""The registry of readers: chosen by a source's first bytes, then by its name."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from functools import cache

from simstore.errors import InvalidParameter
from simstore.sources.articles import ArticleReader
from simstore.sources.columnar import ArrowReader, ParquetReader
from simstore.sources.delimited import DelimitedReader
from simstore.sources.jsonl import JsonlReader
from simstore.sources.lines import LinesReader
from simstore.sources.office import DocxReader, MarkdownReader
from simstore.sources.pdf import PdfReader
from simstore.sources.plain import PlainReader
from simstore.sources.reader import ReadOptions, SourceReader
from simstore.sources.streams import STANDARD_INPUT, base_name
from simstore.sources.warc import WarcReader
from simstore.sources.web import HtmlReader

ENTRY_POINTS = "simstore.readers"
# Why a file is passed over whose name says nothing of how it is read.
TYPE_UNKNOWN = "its type is not known"
_ARTICLES = ArticleReader()
_TEXT = PlainReader()
# Those that read files before those that read streams; an earlier one is asked first.
BUILT_IN: tuple[SourceReader, ...] = (
    ParquetReader(),
    ArrowReader(),
    DocxReader(),
    PdfReader(),
    WarcReader(),
    HtmlReader(),
    JsonlReader(),
    DelimitedReader(),
    _ARTICLES,
    LinesReader(),
    MarkdownReader(),
    _TEXT,
)
FORMATS = ("auto", *(reader.name for reader in BUILT_IN))
_TEXT_SUFFIXES = (".txt",)
_TAR_SUFFIXES = (".tar", ".tgz", ".tbz2", ".txz", ".tzst")
_ARCHIVE_SUFFIXES = (".zip", *_TAR_SUFFIXES)
_TAR_BLOCK = 512
_ARTICLE_NAMES = ("article*.txt", "sample*.txt")


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
    name: str, head: bytes, options: ReadOptions, holds_form_feed: Callable[[], bool]
) -> SourceReader:
    """Return the reader of a source.

    By ``options.format``; else a reader of files that recognises the first bytes; else by the
    name's ending; else a reader of streams that recognises the first bytes; else it is text: an
    article file where the store's scheme or a form feed says so. A ``.txt`` file is text whatever
    it begins with, if no reader of files recognises it.

    Args:
        name: Name of the source.
        head: Its first bytes, decompressed.
        options: How to read.
        holds_form_feed: Tells whether there is one anywhere in the source.

    Raises:
        InvalidParameter: The format has no reader.
    """
    if options.format != "auto":
        return reader_named(options.format)
    base = base_name(name)
    for reader in BUILT_IN:
        if reader.needs_file and reader.recognises(head):
            return reader
    if any(fnmatch.fnmatch(base, pattern) for pattern in _ARTICLE_NAMES):
        return _ARTICLES
    if not base.lower().endswith(_TEXT_SUFFIXES):
        named = _by_suffix(base, BUILT_IN)
        if named is not None:
            return named
        if not (options.texts_are_articles and name != STANDARD_INPUT):
            for reader in BUILT_IN:
                if not reader.needs_file and reader.recognises(head):
                    return reader
        added = _by_suffix(base, added_readers())
        if added is not None:
            return added
        for reader in added_readers():
            if reader.recognises(head):
                return reader
    if options.texts_are_articles or holds_form_feed():
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
    named = _by_suffix(base_name(name), BUILT_IN)
    claimed = named is not None and named.needs_file
    return None if claimed or any(r.needs_file and r.recognises(head) for r in BUILT_IN) else kind


def _is_tar(head: bytes) -> bool:
    """Return whether a block is the header of a tar archive, by its checksum."""
    block = head[:_TAR_BLOCK]
    if len(block) < _TAR_BLOCK or not block[0]:
        return False
    try:
        told = int(block[148:156].strip(b" \x00"), 8)
    except ValueError:
        return False
    return told == sum(block) - sum(block[148:156]) + 8 * ord(" ")


def _is_empty_tar(name: str, head: bytes) -> bool:
    """Return whether a file that is called a tar archive begins with the end of one: two blocks."""
    end = head[: 2 * _TAR_BLOCK]
    return (
        base_name(name).lower().endswith(_TAR_SUFFIXES)
        and len(end) == 2 * _TAR_BLOCK
        and not any(end)
    )


def is_known(path: str) -> bool:
    """Return whether the ending of a name says how a file is read."""
    base = base_name(path)
    return (
        base.lower().endswith(_TEXT_SUFFIXES + _ARCHIVE_SUFFIXES)
        or _by_suffix(base, BUILT_IN) is not None
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


def _by_suffix(base: str, readers: tuple[SourceReader, ...]) -> SourceReader | None:
    lower = base.lower()
    return next((reader for reader in readers if lower.endswith(reader.suffixes)), None)
