"""Sources cut into batches of records, with the place in each source that a batch reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simstore.errors import SourceNotFound, UnreadableSource
from simstore.model import Document, Rejection, SourceState
from simstore.sources.source import Record, Source

BATCH_CHARACTERS = 2 << 20


@dataclass(slots=True)
class Mark:
    """How far a source is read when a batch is committed.

    Attributes:
        ends: The source was read to its end.
    """

    source: Source
    position: int
    byte_offset: int
    ends: bool = False


@dataclass(slots=True)
class Batch:
    """Records that are committed together, and how far their sources are read with them.

    Attributes:
        owners: Name of the source of each document; None: from no source.
        marks: By the name of the source, in the order of the sources.
    """

    documents: list[Document] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    marks: dict[str, Mark] = field(default_factory=dict)
    size: int = 0

    def append(self, record: Record, owner: str | None) -> None:
        """Add a record of a source."""
        if isinstance(record, Document):
            self.documents.append(record)
            self.owners.append(owner)
            self.size += len(record.text)
        else:
            self.rejections.append(record)

    @property
    def record_count(self) -> int:
        """Return the number of records, rejected ones too, or of sources where that is larger."""
        return max(len(self.documents) + len(self.rejections), len(self.marks))

    def is_full(self, most: int) -> bool:
        """Return whether it holds ``most`` records or sources, or enough text."""
        return self.record_count >= most or self.size >= BATCH_CHARACTERS

    def until_first_rejection(self) -> Batch:
        """Return what comes before the first rejected record; the batch where there is none."""
        if not self.rejections:
            return self
        first = self.rejections[0]
        before = Batch(rejections=[first])
        for document, owner in zip(self.documents, self.owners, strict=True):
            if owner == first.source and (document.position or 0) > first.position:
                break
            before.append(document, owner)
        for name, mark in self.marks.items():
            if name == first.source:
                before.marks[name] = Mark(mark.source, first.position, first.byte_offset)
                break
            before.marks[name] = mark
        return before


def batches_of_sources(
    sources: Sequence[Source], states: Mapping[str, SourceState], most: int
) -> Iterator[Batch]:
    """Yield the records of all sources in order; small sources share a batch.

    Args:
        sources: The sources.
        states: How far each was read before, by its name; none: from its start.
        most: Most records, or sources, in a batch.
    """
    batch = Batch()
    for source in sources:
        state = states.get(source.name)
        mark = Mark(source, state.position, state.byte_offset) if state else Mark(source, 0, 0)
        batch.marks[source.name] = mark
        try:
            for record in source.records(mark.position, mark.byte_offset):
                batch.append(record, source.name)
                mark.position = (record.position or 0) + 1
                mark.byte_offset = record.end_offset or 0
                if batch.is_full(most):
                    yield batch
                    mark = Mark(source, mark.position, mark.byte_offset)
                    batch = Batch(marks={source.name: mark})
        except (UnreadableSource, SourceNotFound) as error:
            reason = error.reason if isinstance(error, UnreadableSource) else "it has gone"
            offset = mark.byte_offset
            batch.append(Rejection(source.name, mark.position, offset, offset, reason), source.name)
        mark.ends = True
        if batch.is_full(most):
            yield batch
            batch = Batch()
    if batch.marks:
        yield batch


def batches_of_documents(given: Iterable[Document], most: int) -> Iterator[Batch]:
    """Yield documents that come from no source."""
    batch = Batch()
    for document in given:
        batch.append(document, None)
        if batch.is_full(most):
            yield batch
            batch = Batch()
    if batch.documents:
        yield batch
