"""Request and reply types of a store's long-running writer: add, update or remove documents."""

from __future__ import annotations

from dataclasses import dataclass

from simstore.model.documents import Document
from simstore.model.ingest import Duplicate, OnDuplicate, Outcome
from simstore.model.results import Shown


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """Documents to add or update, as if one after the other.

    >>> request = WriteRequest((Document("copy", text),), on_duplicate="skip")
    >>> with store.runs.writer() as writer:
    ...     (reply,) = writer.write([request])
    >>> reply.outcomes[0].outcome
    'skipped'

    Attributes:
        documents: The documents.
        on_duplicate: As for :meth:`~simstore.Store.add_many`.
        min_resemblance: As for :meth:`~simstore.Store.add_many`, and so
            ``radius``, ``channels`` and ``short_texts``.
    """

    documents: tuple[Document, ...]
    on_duplicate: OnDuplicate | None = None
    min_resemblance: float | None = None
    radius: int | None = None
    channels: tuple[str, ...] = ()
    short_texts: bool = False


@dataclass(frozen=True, slots=True)
class RemoveRequest:
    """Documents to remove by their keys.

    >>> request = RemoveRequest(("bread-1", "soup"), missing_ok=True)
    >>> with store.runs.writer() as writer:
    ...     [reply.removed for reply in writer.write([request])]
    [1]

    Attributes:
        keys: Their keys; a repeated one counts once.
        missing_ok: Pass over keys that are not there.
    """

    keys: tuple[str, ...]
    missing_ok: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class DocumentOutcome(Shown):
    """The outcome of writing one document.

    >>> request = WriteRequest((Document("soup", "Boil the bones."),))
    >>> with store.runs.writer() as writer:
    ...     (reply,) = writer.write([request])
    >>> [(found.key, found.outcome) for found in reply.outcomes]
    [('soup', 'added')]

    Attributes:
        key: Its key.
        outcome: What became of it.
        duplicate: What it duplicates, where it was flagged or skipped and its
            original stands.
        same_text_as: Key of the earliest other document with its text.
        displaced: Stored documents that were originals and duplicate it now, as
            it comes before them; they stay stored, flagged.
    """

    key: str
    outcome: Outcome
    duplicate: Duplicate | None = None
    same_text_as: str | None = None
    displaced: tuple[Duplicate, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class WriteReply(Shown):
    """The reply to a write request; its changes are durable.

    >>> with store.runs.writer() as writer:
    ...     (reply,) = writer.write([RemoveRequest(("bread-1",))])
    >>> reply.removed
    1

    Attributes:
        outcomes: One a document, in their order.
        removed: Documents that were removed.
        orphans: Keys that had been skipped as duplicates of documents which it
            removed, ascending: they should be added again.
        unflagged: Keys of documents that were flagged because of those, and are
            originals now.
        uncovered: Keys that had been skipped as duplicates of documents whose
            new text no longer says all that the former one said, ascending:
            they should be added again.
    """

    outcomes: tuple[DocumentOutcome, ...] = ()
    removed: int = 0
    orphans: tuple[str, ...] = ()
    unflagged: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
