"""Open files, folders, glob patterns, pipes, standard input and archive members as sources."""

from __future__ import annotations

import glob
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Unpack

from simstore.errors import (
    InvalidParameter,
    MissingExtra,
    SourceNotFound,
    UnreadableSource,
    printable,
)
from simstore.model import Ignored, Rejection, SourceState, with_keywords
from simstore.sources.reader import (
    ReadKeywords,
    ReadOptions,
    ReadRequest,
    SourceReader,
)
from simstore.sources.registry import (
    HEAD,
    archive_kind,
    choose_reader,
    is_article_name,
    is_known,
    look_ahead,
    read_with,
    reader_label,
    reader_named,
)
from simstore.sources.source import Member, PlainSource, Record, Source
from simstore.sources.streams import (
    STANDARD_INPUT,
    ByteStream,
    is_read_once,
    is_special,
    is_standard_input,
    open_bytes,
    reading,
)
from simstore.sources.unpacking import DamagedStream, Expansion, compression

_PIECE = 1 << 20


class FileSource:
    """A file, a pipe or standard input, with the reader that reads it.

    Args:
        path: Where it is; ``-`` is standard input.
        options: How to read it.
        name: What it is called; None: by its path, or ``-`` where it is read once.
        is_found: It is one of a folder or a pattern: where an extra is missing for it, it is
            rejected, and others are read.
    """

    def __init__(
        self,
        path: str,
        options: ReadOptions,
        name: str | None = None,
        *,
        is_found: bool = False,
    ) -> None:
        self._is_found = is_found
        # Pipes and standard input: opened once, and read from their start.
        self._is_input = is_read_once(path)
        self.name = name or (STANDARD_INPUT if self._is_input else path)
        self._path = path
        self._options = options
        self._stream = ByteStream(self.name, options.max_expansion, path)
        # Archive or not; and the reader, where it is none.
        self._kind: tuple[str | None, SourceReader | None] | None = None
        # Standard input, once its beginning was looked at.
        self._looked: tuple[ExitStack, SourceReader, ReadRequest, io.BufferedReader] | None = None

    def is_one_page_by_name(self) -> bool:
        """Return whether it is an article file by its name, and has no second page.

        So it may be a text that is called so by chance: what is its key is told.
        """
        if self._options.format != "auto" or self._is_input or not is_article_name(self.name):
            return False
        with suppress(UnreadableSource, SourceNotFound):
            first = self._first()
            return bool(first) and len(first) < HEAD and b"\f" not in self._unpacked(first)
        return False

    @property
    def total_bytes(self) -> int | None:
        """Size of the file in bytes; None for standard input."""
        return self._stream.total_bytes

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, before decompression."""
        return self._stream.bytes_read

    @property
    def reader_name(self) -> str | None:
        """Name of the reader that reads the file; None for an archive and standard input."""
        if self._is_input or not os.path.isfile(self._path):
            return None
        _, reader = self._look()
        return None if reader is None else reader.name

    def state(self) -> SourceState:
        """Return what identifies the content and the way it is read."""
        if self._is_input:
            return SourceState(
                size=None,
                modified_ns=None,
                head_digest=b"",
                reader=reader_label("auto", self._options),
            )
        with reading(self.name):
            status = Path(self._path).stat()
            first = self._first()
        kind, reader = self._look(first)
        label = reader_label(kind or (reader.name if reader else ""), self._options)
        return SourceState(
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
            head_digest=_digest(first),
            reader=label,
            path=os.path.abspath(self._path),
        )

    def has_grown(self, known: SourceState) -> bool:
        """Return whether the file has become longer, and was read up to the end of a record."""
        if self._is_input or known.size is None or not known.position:
            return False
        now = self.state()
        _, reader = self._look()
        if (
            reader is None
            or not reader.record_ends
            or known.reader != now.reader
            or (now.size or 0) <= known.size
            or known.head_digest != _digest(self._first()[: known.size])
        ):
            return False
        length = min(max(len(end) for end in reader.record_ends), known.byte_offset)
        with suppress(DamagedStream), self._stream.open(known.byte_offset - length) as stream:
            return stream.read(length).endswith(reader.record_ends)
        return False

    def members(self, position: int = 0, byte_offset: int = 0) -> Iterator[Member] | None:
        """Return the members of an archive from number ``position`` on; None: it is no archive."""
        if self._is_input:
            return self._members_of_input()
        kind, _ = self._look()
        if kind is None:
            return None
        return self._members_of_file(kind, position, byte_offset)

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:
        """Yield the records from ``position`` on, which begins at ``byte_offset``.

        Of an archive: the records of all its members. Standard input begins where it begins.
        """
        try:
            members = self.members() if self._looked is None else None
            if members is not None:
                yield from _records_of(members)
            elif self._looked is not None:
                stack, reader, request, stream = self._looked
                self._looked = None
                with stack:
                    yield from read_with(reader, stream, request)
            else:
                yield from self._records_of_file(position, byte_offset)
        except DamagedStream as error:
            # Damage before the first record that was asked for.
            yield Rejection(self.name, position, byte_offset, byte_offset, error.reason)
        except MissingExtra as error:
            if not self._is_found:
                raise
            yield Rejection(self.name, position, byte_offset, byte_offset, str(error))

    def _records_of_file(self, position: int, byte_offset: int) -> Iterator[Record]:
        first = self._first()
        _, reader = self._look(first)
        if reader is None:
            return
        head = self._unpacked(first)
        request = ReadRequest(self.name, position, byte_offset, self._options, head)
        with self._stream.open(0 if reader.needs_file else byte_offset) as stream:
            yield from read_with(reader, stream, request)

    def _members_of_file(self, kind: str, position: int, byte_offset: int) -> Iterator[Member]:
        with self._stream.open(0 if kind == "zip" else byte_offset) as stream:
            yield from self._members_of(kind, stream, position, byte_offset)

    def _members_of_input(self) -> Iterator[Member] | None:
        """Look at standard input; keep what was seen where it is no archive."""
        stack = ExitStack()
        opened = stack.enter_context(self._stream.open())
        # A named pipe may have an ending; the numbers of others tell nothing.
        looked = self._path if is_known(self._path) else STANDARD_INPUT
        reader, head, stream = look_ahead(opened, looked, self._options)
        kind = archive_kind(looked, head, self._options)
        if kind is None:
            request = ReadRequest(self.name, 0, 0, self._options, head)
            self._looked = stack, reader, request, stream
            return None

        def members() -> Iterator[Member]:
            with stack:
                yield from self._members_of(kind, stream, 0, 0)

        return members()

    def _members_of(
        self, kind: str, stream: io.BufferedReader, position: int, byte_offset: int
    ) -> Iterator[Member]:
        from simstore.sources.archives import Archive, tar_members, zip_members

        most = self._options.max_expansion
        expansion = Expansion(self.name, most, lambda: self.total_bytes or self.bytes_read)
        archive = Archive(self.name, self.state(), self._options, expansion)
        found = (
            zip_members(archive, stream, position)
            if kind == "zip"
            else tar_members(archive, stream, position, byte_offset)
        )
        count = position
        for member in found:
            count += 1
            yield member
        if not count:
            nothing = Ignored(self.name, 0, 0, 0, "no file in it", is_source=True)
            yield Member(0, 0, 0, nothing)

    def _look(self, first: bytes | None = None) -> tuple[str | None, SourceReader | None]:
        """Return what kind of archive the file is, or its reader."""
        if self._kind is None:
            if first is None:
                first = self._first()
            head = self._unpacked(first)
            kind = archive_kind(self.name, head, self._options)
            if kind is not None:
                self._kind = kind, None
            else:

                def are_articles() -> bool:
                    is_all = len(first) < HEAD and compression(first) is None
                    if is_all and b"\f" not in first:
                        return False
                    # Imported where there are any pages: most texts have none.
                    from simstore.sources.articles import holds_articles

                    return holds_articles([first] if is_all else self._pieces())

                self._kind = None, choose_reader(self.name, head, self._options, are_articles)
        return self._kind

    def _first(self) -> bytes:
        """Return the first bytes of the file, as they lie there."""
        with open_bytes(self._path) as file, reading(self.name):
            return file.read(HEAD) or b""

    def _unpacked(self, first: bytes) -> bytes:
        """Return the first bytes of the file, decompressed; as many as there are before damage."""
        if compression(first) is None:
            return first
        head = b""
        with suppress(DamagedStream), self._stream.open() as stream:
            while len(head) < HEAD and (data := stream.read1(HEAD - len(head))):
                head += data
        return head

    def _pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the file, decompressed, up to damage."""
        stream = ByteStream(self.name, self._options.max_expansion, self._path)
        with suppress(DamagedStream), stream.open() as opened:
            while data := opened.read1(_PIECE):
                yield data


class Files:
    """The documents of files, folders, patterns, or ``-`` for standard input.

    >>> size = Path("page.txt").write_text("Boil the bones for two hours.")
    >>> [result.key for result in store.query_many(Files("page.txt"))]
    ['page.txt']

    Args:
        names: One name or several.
        read: How to read them, as an object; keywords go before it.
        keywords: The same by name: ``format``, ``encoding``, ``key_field``,
            ``text_field`` and the others of :class:`simstore.ReadOptions`.
    """

    def __init__(
        self,
        *names: str | os.PathLike[str],
        read: ReadOptions | None = None,
        **keywords: Unpack[ReadKeywords],
    ) -> None:
        self.names = names_of(names)
        self.read = with_keywords("Files", ReadOptions, read, keywords) if keywords else read

    def __repr__(self) -> str:
        return f"Files({', '.join(map(repr, self.names))})"


def names_of(names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the names of sources, of which one may stand alone.

    Raises:
        InvalidParameter: One is no path, or there are none.
    """
    given = [names] if isinstance(names, str | os.PathLike) else names
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InvalidParameter(f"{type(given).__name__} names no files; give a path, or a list")
    found = list(given)
    for one in found:
        if not isinstance(one, str | os.PathLike) or not isinstance(os.fspath(one), str):
            raise InvalidParameter(f"{type(one).__name__} names no file; give a path")
    if not found:
        raise InvalidParameter("no names of files are given")
    return [os.fspath(one) for one in found]


def open_sources(names: Sequence[str], options: ReadOptions) -> tuple[list[Source], list[str]]:
    """Return a source for each file that is meant, and the names of files that are passed over.

    A name is a file, a folder (all files below it that have a known ending, in the order of
    their paths; hidden ones are left out), a pattern, a pipe, or ``-`` for standard input. A pipe
    is called ``-`` too; of several, the second is ``-2``.

    Raises:
        SourceNotFound: A name means nothing.
        InvalidParameter: Standard input is named twice, or the format has no reader.
        UnreadableSource: A name is that of a device or a socket.
    """
    if options.format != "auto":
        reader_named(options.format)
    if sum(map(is_standard_input, names)) > 1:
        raise InvalidParameter("standard input (-) can be read only once")
    paths: list[str] = []
    passed_over: list[str] = []
    found: set[str] = set()
    unreadable: dict[str, UnreadableSource] = {}
    for name in names:
        if is_standard_input(name):
            paths.append(STANDARD_INPUT)
        elif os.path.isdir(name):
            for path in _files_below(name, unreadable):
                known = options.format != "auto" or is_known(path) or path in unreadable
                is_read = known and (path in unreadable or not is_special(path))
                (paths if is_read else passed_over).append(path)
                found.add(os.path.normpath(path))
        elif os.path.lexists(name):
            if is_special(name) and not is_read_once(name):
                # Before anything is read.
                open_bytes(name).close()
            paths.append(name)
        else:
            matched = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []
            matched = [path for path in matched if not os.path.isdir(path)]
            passed_over += filter(is_special, matched)
            matched = [path for path in matched if not is_special(path)]
            if not matched:
                raise SourceNotFound(name)
            paths += matched
            found.update(map(os.path.normpath, matched))
    # One name a file, however it was written: it is the key of a plain text.
    paths = [p if p == STANDARD_INPUT else os.path.normpath(p) for p in paths]
    sources: list[Source] = []
    pipes = 0
    # A file that is named by a relative and an absolute path is read once.
    first_of: dict[str, str] = {}
    for path in paths:
        first_of.setdefault(path if path == STANDARD_INPUT else os.path.abspath(path), path)
    for path in first_of.values():
        if (refused := unreadable.get(path)) is not None:
            sources.append(_UnreadableFolder(path, refused))
            continue
        pipes += is_read_once(path)
        numbered = f"{STANDARD_INPUT}{pipes}" if pipes > 1 and is_read_once(path) else None
        sources.append(FileSource(path, options, numbered, is_found=path in found))
    return sources, passed_over


def _records_of(members: Iterator[Member]) -> Iterator[Record]:
    for member in members:
        if isinstance(member.source, Record):
            yield member.source
        else:
            yield from member.source.records()


def _files_below(folder: str, unreadable: dict[str, UnreadableSource]) -> Iterator[str]:
    """Yield the files below a folder by their paths, links to folders too; note unreadable folders.

    Args:
        folder: The folder.
        unreadable: Why a folder below cannot be read, by its path; it is yielded too.

    Raises:
        UnreadableSource: The folder itself cannot be read.
    """
    found: list[str] = []

    def refuse(error: OSError) -> None:
        path, reason = os.fspath(error.filename), error.strerror or "unreadable"
        if path == folder:
            raise UnreadableSource(printable(path), reason)
        why = f"this folder cannot be read: {reason.lower()}"
        unreadable[os.path.normpath(path)] = UnreadableSource(path, why)
        found.append(os.path.normpath(path))

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = (name for name in folders if not name.startswith("."))
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        shown = [*links, *(name for name in files if name[0] != ".")]
        found += (os.path.join(parent, name) for name in shown)
    yield from sorted(found)


def _digest(first: bytes) -> bytes:
    return hashlib.blake2b(first, digest_size=16).digest()


class _UnreadableFolder(PlainSource):
    """A folder below one that is read, which cannot be read itself: its records are a rejection."""

    def __init__(self, path: str, error: UnreadableSource) -> None:
        self.name = path
        self.total_bytes = 0
        self.bytes_read = 0
        self._error = error

    def state(self) -> SourceState:
        """Raise why it cannot be read."""
        raise self._error

    def records(self, position: int = 0, byte_offset: int = 0) -> Iterator[Record]:  # noqa: ARG002
        """Raise why it cannot be read."""
        raise self._error
