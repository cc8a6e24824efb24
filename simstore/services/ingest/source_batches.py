"""Cut sources into batches of records, each with the position reached in its sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from simstore.errors import InvalidParameter, SourceNotFound, UnreadableSource
from simstore.model import Document, Ignored, Rejection, SourceState
from simstore.sources.source import Record, Source, why_unreadable
from simstore.sources.streams import SEPARATOR, STANDARD_INPUT
from simstore.text.decoding import encode, text_digest

BATCH_CHARACTERS = 2 << 20
# Hexadecimal digits of a digest in a key.
_DIGEST_LETTERS = 16


@dataclass(slots=True)
class Mark:
    """The position that is reached in a source when a batch is committed.

    Attributes:
        position: Number of the next record; of the next member, or the one under way, of an
            archive.
        ends: The source was read to its end.
        is_archive: It is an archive, whose members have marks of their own.
        is_member: It is a member of one.
        bytes_read: Stored bytes of the source that were read when the batch was full.
    """

    source: Source
    position: int
    byte_offset: int
    ends: bool = False
    is_archive: bool = False
    is_member: bool = False
    bytes_read: int = 0


@dataclass(slots=True)
class Batch:
    """Records that are committed together, with the positions reached in their sources.

    Attributes:
        owners: Name of the source of each document; None: from no source.
        marks: By the name of the source, in the order of the sources; an archive after those of
            its members that are in the batch.
    """

    documents: list[Document] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    passed_over: list[Ignored] = field(default_factory=list)
    marks: dict[str, Mark] = field(default_factory=dict)
    size: int = 0

    def append(self, record: Record, owner: str | None) -> None:
        """Add a record of a source."""
        if isinstance(record, Document):
            self.documents.append(record)
            self.owners.append(owner)
            self.size += len(record.text)
        elif isinstance(record, Rejection):
            self.rejections.append(record)
        else:
            self.passed_over.append(record)

    @property
    def record_count(self) -> int:
        """Return the number of records, rejected ones too, or of sources where that is larger."""
        records = len(self.documents) + len(self.rejections) + len(self.passed_over)
        return max(records, len(self.marks))

    @property
    def is_plain(self) -> bool:
        """Return whether it has nothing but documents, besides the positions in its sources."""
        return not (self.rejections or self.passed_over)

    @classmethod
    def joined(cls, parts: Iterable[Batch]) -> Batch:
        """Return plain batches that follow each other as one."""
        made = cls()
        for part in parts:
            made.documents += part.documents
            made.owners += part.owners
            made.size += part.size
            for name, mark in part.marks.items():
                # An archive comes after its members.
                made.marks.pop(name, None)
                made.marks[name] = mark
        return made

    def is_full(self, most: int) -> bool:
        """Return whether it holds ``most`` records or sources, or enough text."""
        return self.record_count >= most or self.size >= BATCH_CHARACTERS


def batches_of_sources(
    sources: Sequence[Source],
    state_of: Callable[[Source], SourceState | None],
    most: int,
    *,
    strict: bool = False,
    key: str | None = None,
) -> Iterator[Batch]:
    """Yield the records of all sources in order; small sources share a batch.

    Args:
        sources: The sources.
        state_of: Tells how far a source was read before; None: from its start.
        most: Most records, or sources, in a batch.
        strict: The first record that is rejected is the last of all; its source is to be read on
            from there.
        key: Key of the text of standard input; None: by its digest.

    Raises:
        InvalidParameter: There is a key, and standard input is no source.
    """
    if key is not None and not any(_is_input(source) for source in sources):
        raise InvalidParameter("a key names the text of standard input (-), which is not read here")
    cutter = _Cutter(state_of, most, strict=strict, key=key)
    with suppress(_Refused):
        for source in sources:
            for batch in cutter.read(source):
                yield _noted(batch)
    if cutter.batch.marks:
        yield _noted(cutter.batch)


def _noted(batch: Batch) -> Batch:
    """Note how far the sources are read: while it is written, they are read on."""
    for mark in batch.marks.values():
        mark.bytes_read = mark.source.bytes_read
    return batch


class _Refused(Exception):
    """A record is rejected, and nothing comes after it."""


class _Cutter:
    """Cuts sources into batches.

    Attributes:
        batch: What is gathered and not yet yielded.
    """

    def __init__(
        self,
        state_of: Callable[[Source], SourceState | None],
        most: int,
        *,
        strict: bool,
        key: str | None,
    ) -> None:
        self.batch = Batch()
        self._state_of = state_of
        self._most = most
        self._strict = strict
        self._key = key
        # Name of the standard input or pipe that is read.
        self._input: str | None = None
        # The archive whose members are read.
        self._archive: Mark | None = None

    def read(self, source: Source) -> Iterator[Batch]:
        """Yield the batches that are full with the records of a source."""
        self._input = source.name if _is_input(source) else None
        mark = self._begin(source)
        try:
            members = source.members(mark.position, mark.byte_offset)
            if members is not None:
                mark.is_archive = True
                self._archive = mark
                for member in members:
                    self._archive.position = member.number
                    self._archive.byte_offset = member.byte_offset
                    if isinstance(member.source, Record):
                        self._append(member.source, source.name)
                    else:
                        yield from self._read_member(member.source)
                    self._archive.position = member.number + 1
                    self._archive.byte_offset = member.end_offset
                    yield from self._cut_between()
            else:
                yield from self._read_records(mark)
        except (UnreadableSource, SourceNotFound) as error:
            current = self.batch.marks[source.name]
            self._append(_unreadable(source, current, error), source.name)
        finally:
            self._archive = None
        self.batch.marks[source.name].ends = True
        if self.batch.is_full(self._most):
            yield self.batch
            self.batch = Batch()

    def _begin(self, source: Source) -> Mark:
        state = self._state_of(source)
        mark = Mark(source, state.position, state.byte_offset) if state else Mark(source, 0, 0)
        self.batch.marks[source.name] = mark
        return mark

    def _read_member(self, source: Source) -> Iterator[Batch]:
        mark = self._begin(source)
        mark.is_member = True
        self._archive_last()
        yield from self._read_records(mark)
        self.batch.marks[source.name].ends = True

    def _read_records(self, mark: Mark) -> Iterator[Batch]:
        source = mark.source
        try:
            for record in source.records(mark.position, mark.byte_offset):
                self._append(record, source.name)
                if not (isinstance(record, Ignored) and record.is_source):
                    mark.position = (record.position or 0) + 1
                    mark.byte_offset = record.end_offset or 0
                if self.batch.is_full(self._most):
                    yield self.batch
                    mark = replace(mark)
                    self.batch = Batch(marks={source.name: mark})
                    self._archive_last()
        except (UnreadableSource, SourceNotFound) as error:
            self._append(_unreadable(source, mark, error), source.name)

    def _cut_between(self) -> Iterator[Batch]:
        """Yield the batch where it is full after a member."""
        if self.batch.is_full(self._most):
            yield self.batch
            self.batch = Batch()
            self._archive_last()

    def _archive_last(self) -> None:
        """Put the archive that is read behind its members, with a mark of this batch."""
        if self._archive is not None:
            name = self._archive.source.name
            if self.batch.marks.pop(name, None) is None:
                # The mark that was there is yielded, and stays as it is.
                self._archive = replace(self._archive)
            self.batch.marks[name] = self._archive

    def _append(self, record: Record, owner: str) -> None:
        if isinstance(record, Document) and self._input is not None:
            record = replace(record, key=_input_key(record, self._input, self._key))
        self.batch.append(record, owner)
        if self._strict and isinstance(record, Rejection):
            raise _Refused


def _is_input(source: Source) -> bool:
    """Return whether a source is standard input or a pipe: a file has a size."""
    return source.name.startswith(STANDARD_INPUT) and source.total_bytes is None


def _input_key(document: Document, name: str, key: str | None) -> str:
    """Return the key of a document of standard input, which has the name for all its contents.

    A key that a record brings with it stays. One made of the name gets the digest of the text, so
    that the next content is another document.

    Raises:
        InvalidParameter: A key is given, and the record brings one.
    """
    base, rest = document.key[: len(name)], document.key[len(name) :]
    is_of_row = rest.startswith(":") and rest[1:].isdigit()
    if base != name or (rest and not is_of_row and not rest.startswith(SEPARATOR)):
        if key is not None:
            raise InvalidParameter("standard input has records with keys of their own: name no key")
        return document.key
    if key is not None:
        return key + rest
    return f"{document.key}@{text_digest(encode(document.text)).hex()[:_DIGEST_LETTERS]}"


def _unreadable(source: Source, mark: Mark, error: UnreadableSource | SourceNotFound) -> Rejection:
    reason = why_unreadable(error)
    return Rejection(source.name, mark.position, mark.byte_offset, mark.byte_offset, reason)


def batches_of_documents(given: Iterable[Document | Rejection], most: int) -> Iterator[Batch]:
    """Yield documents that come from no source; those before an error, then raise it.

    Raises:
        InvalidParameter: A document has an empty key.
    """
    batch = Batch()
    records = _with_keys(given)
    while True:
        try:
            record = next(records, None)
        except Exception:
            if batch.record_count:
                yield batch
            raise
        if record is None:
            break
        batch.append(record, None)
        if batch.is_full(most):
            yield batch
            batch = Batch()
    if batch.record_count:
        yield batch


def _with_keys(given: Iterable[Document | Rejection]) -> Iterator[Document | Rejection]:
    for place, record in enumerate(given, 1):
        if isinstance(record, Document) and not record.key:
            raise InvalidParameter(f"document {place}: its key is empty; give each its own key")
        yield record
