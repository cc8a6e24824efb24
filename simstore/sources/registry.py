"""Which reader reads what: names, folders and patterns to sources."""

from __future__ import annotations

import fnmatch
import glob
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from simstore.errors import InvalidParameter, SourceNotFound, UnreadableSource, printable
from simstore.model import Rejection, SourceState
from simstore.sources.articles import read_articles
from simstore.sources.jsonl import HistoryFields, read_jsonl
from simstore.sources.plain import read_plain
from simstore.sources.source import MAX_DOCUMENT_BYTES, Record, Source
from simstore.sources.streams import (
    COMPRESSED_SUFFIXES,
    STANDARD_INPUT,
    ByteStream,
    DamagedStream,
    Prefixed,
)
from simstore.text.decoding import UTF8_BOM

Format = Literal["auto", "articles", "text", "jsonl"]
FORMATS: tuple[str, ...] = get_args(Format)

_JSONL_SUFFIXES = (".jsonl", ".ndjson")
_TEXT_SUFFIXES = (".txt",)
_ARTICLE_NAMES = ("article*.txt", "sample*.txt")
_FORM_FEED_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read sources.

    Attributes:
        format: A reader, or ``auto``: by name, then by content.
        texts_are_articles: A ``.txt`` file is an article file (stores of the scheme ``simtool``).
        max_document_bytes: Longer records are rejected; None: no limit.
        key_field: Field of JSON Lines that holds the key; None: the usual ones.
        text_field: Field of JSON Lines that holds the text; None: the usual ones.
        history_fields: Fields of JSON Lines that hold times and links.
    """

    format: Format = "auto"
    texts_are_articles: bool = False
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES
    key_field: str | None = None
    text_field: str | None = None
    history_fields: HistoryFields = field(default_factory=HistoryFields)


class FileSource:
    """A file, or standard input, with the reader that reads it.

    Args:
        name: Path, or ``-``.
        options: How to read it.
    """

    def __init__(self, name: str, options: ReadOptions) -> None:
        self.name = name
        self._options = options
        self._stream = ByteStream(name)
        self._chosen: str | None = None

    @property
    def total_bytes(self) -> int | None:
        """Size of the file in bytes; None for standard input."""
        return self._stream.total_bytes

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, before decompression."""
        return self._stream.bytes_read

    def state(self) -> SourceState:
        """Return what identifies the content and the way it is read."""
        options = self._options
        fields = f"{options.key_field} {options.text_field}"
        if options.history_fields:
            history = options.history_fields
            fields += f" {history.seen} {history.published} {history.links}"
        reader = f"{self._format()} {options.max_document_bytes} {fields}"
        return self._stream.state(reader[:200])

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records from ``position`` on, which begins at ``byte_offset``."""
        options = self._options
        limit = options.max_document_bytes
        chosen = self._format()
        try:
            with self._stream.open(byte_offset) as opened:
                stream = opened
                if chosen == "auto":
                    chosen, stream = _look_ahead(opened, limit)
                if chosen == "jsonl":
                    yield from read_jsonl(
                        stream,
                        self.name,
                        position=position,
                        byte_offset=byte_offset,
                        max_document_bytes=limit,
                        key_field=options.key_field,
                        text_field=options.text_field,
                        history_fields=options.history_fields,
                    )
                elif chosen == "articles":
                    yield from read_articles(
                        stream,
                        self.name,
                        position=position,
                        byte_offset=byte_offset,
                        max_document_bytes=limit,
                    )
                elif position == 0:
                    yield from read_plain(stream, self.name, max_document_bytes=limit)
        except DamagedStream as error:
            # Damage before the first record that was asked for.
            yield Rejection(self.name, position, byte_offset, byte_offset, error.reason)

    def _format(self) -> str:
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    def _choose(self) -> str:
        options = self._options
        if options.format != "auto":
            return options.format
        base = Path(_without_compression(self.name)).name
        if base.endswith(_JSONL_SUFFIXES):
            return "jsonl"
        if options.texts_are_articles or any(fnmatch.fnmatch(base, p) for p in _ARTICLE_NAMES):
            return "articles"
        if self.name == STANDARD_INPUT:
            return "auto"
        return "articles" if self._holds_form_feed() else "text"

    def _holds_form_feed(self) -> bool:
        with suppress(DamagedStream), ByteStream(self.name).open() as stream:
            while data := stream.read1(_FORM_FEED_CHUNK):
                if b"\f" in data:
                    return True
        return False


def _look_ahead(stream: io.BufferedReader, limit: int | None) -> tuple[str, io.BufferedReader]:
    """Return the format of a stream that has no name, and the stream from its start.

    As with a file: a form feed says articles; a brace at the start says JSON Lines.
    """
    head = b""
    is_jsonl = False
    while data := stream.read1(_FORM_FEED_CHUNK):
        head += data
        is_jsonl = head.removeprefix(UTF8_BOM).lstrip()[:1] == b"{"
        if b"\f" in data or is_jsonl or (limit is not None and len(head) > limit):
            break
    whole = cast(io.BufferedReader, io.BufferedReader(Prefixed(head, stream), _FORM_FEED_CHUNK))
    if is_jsonl:
        return "jsonl", whole
    return ("articles" if b"\f" in head else "text"), whole


def open_sources(names: Sequence[str], options: ReadOptions) -> tuple[list[Source], list[str]]:
    """Return a source for each file that is meant, and the names of files that are passed over.

    A name is a file, a folder (all files below it that have a known ending, in the order of
    their paths; hidden ones are left out), a pattern, or ``-`` for standard input.

    Raises:
        SourceNotFound: A name means nothing.
        InvalidParameter: Standard input is named twice.
    """
    if sum(name == STANDARD_INPUT for name in names) > 1:
        raise InvalidParameter("standard input (-) can be read only once")
    paths: list[str] = []
    passed_over: list[str] = []
    for name in names:
        if name == STANDARD_INPUT:
            paths.append(name)
        elif os.path.isdir(name):
            for path in _files_below(name):
                known = options.format != "auto" or _is_known(path)
                (paths if known else passed_over).append(path)
        elif os.path.lexists(name):
            paths.append(name)
        else:
            found = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []
            found = [path for path in found if not os.path.isdir(path)]
            if not found:
                raise SourceNotFound(name)
            paths += found
    # One name a file, however it was written: it is the key of a plain text.
    paths = [p if p == STANDARD_INPUT else os.path.normpath(p) for p in paths]
    return [FileSource(path, options) for path in dict.fromkeys(paths)], passed_over


def _files_below(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise UnreadableSource(printable(str(error.filename)), error.strerror or "unreadable")

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(parent, name) for name in sorted(files) if name[0] != ".")


def _is_known(path: str) -> bool:
    return _without_compression(path).endswith(_JSONL_SUFFIXES + _TEXT_SUFFIXES)


def _without_compression(name: str) -> str:
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
