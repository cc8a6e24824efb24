"""Sources, rejected records and results of an ingest; results of removing and expiring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from simstore.model.results import Shown

Outcome = Literal["added", "updated", "unchanged", "flagged", "skipped"]
OnDuplicate = Literal["keep", "flag", "skip"]
DuplicateState = Literal["flagged", "skipped", "uncovered", "orphaned"]
# How an original that turns out to be a duplicate is counted, by its state then.
Policy = Literal["live", "frozen"]
# Of the keys that came repeatedly so many are named.
NAMED_KEYS = 3


@dataclass(frozen=True, slots=True, repr=False)
class Rejection(Shown):
    """A record that cannot be stored, and why.

    >>> size = Path("pages.jsonl").write_text('{"id": "soup"}')
    >>> store.ingest("pages.jsonl").rejected
    1
    >>> rejection = store.rejects.list()[0].rejection
    >>> rejection.source, rejection.reason
    ('pages.jsonl', 'no text: ...')

    Attributes:
        source: Name of the source.
        position: Number of the record in its source, from 0.
        byte_offset: Where the record begins in its (decompressed) source.
        end_offset: Where the next record begins.
        reason: What is wrong, in one sentence.
        head: The first bytes of the record, at most 200.
    """

    source: str
    position: int
    byte_offset: int
    end_offset: int
    reason: str
    head: bytes = b""


@dataclass(frozen=True, slots=True, repr=False)
class Ignored(Shown):
    """A part of a source that is no document, as a picture in an archive.

    >>> from zipfile import ZipFile
    >>> with ZipFile("pages.zip", "w") as archive:
    ...     archive.writestr("logo.png", bytes(20))
    >>> observer = Observer(on_pass_over=lambda part: print(part.reason))
    >>> store.ingest("pages.zip", observer=observer).passed_over
    its type is not known
    1

    It is counted and told, and nothing of it is kept.

    Attributes:
        source: Name of the source.
        position: Its number among the records of the source, from 0.
        byte_offset: Where it begins in the (decompressed) source.
        end_offset: Where the next record begins.
        reason: Why, in a few words.
        seen_key: Key of a document that was seen again with the text it had, as
            a web archive tells; None: it tells nothing of the kind.
        seen_at: When.
        is_source: It is the whole source, which has no records: what is
            appended to it is read from its start.
    """

    source: str
    position: int
    byte_offset: int
    end_offset: int
    reason: str
    seen_key: str | None = None
    seen_at: int | None = None
    is_source: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class StoredRejection(Shown):
    """A rejection recorded in the store.

    >>> size = Path("pages.jsonl").write_text('{"id": "soup"}')
    >>> summary = store.ingest("pages.jsonl")
    >>> (found,) = store.rejects.list()
    >>> found.run_id == summary.run_id, found.rejection.position
    (True, 0)
    """

    _PARTS = ("rejection", Rejection)

    reject_id: int
    run_id: int
    rejected_at: int
    rejection: Rejection


@dataclass(frozen=True, slots=True)
class SourceState:
    """The position up to which a source was ingested.

    Attributes:
        size: Size in bytes; None for a stream.
        modified_ns: Time of the last change, nanoseconds; None for a stream.
        head_digest: Digest of the first bytes; empty for a stream.
        reader: The reader and its options; another reader begins anew.
        position: Records committed.
        byte_offset: Where the next record begins.
        complete: The source was read to its end.
        path: Its absolute path, which distinguishes files of one relative name;
            empty for a stream.
    """

    size: int | None
    modified_ns: int | None
    head_digest: bytes
    reader: str
    position: int = 0
    byte_offset: int = 0
    complete: bool = False
    path: str = ""

    def is_same_content(self, other: SourceState) -> bool:
        """Return whether both describe the same bytes read the same way."""
        return self.size is not None and (
            (self.size, self.modified_ns, self.head_digest, self.reader)
            == (other.size, other.modified_ns, other.head_digest, other.reader)
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IngestSummary(Shown):
    """Summary of an ingest run: counts of its records.

    >>> summary = store.add_many({"soup": "Boil.", "bread-1": "Bake."})
    >>> summary.added, summary.updated, summary.rejected
    (1, 1, 0)

    Each record is counted once, as added, updated, unchanged, flagged, skipped
    or rejected. ``identical_texts`` counts documents that were added, updated
    or flagged and whose very text is stored under another key too: exact
    copies, no near-duplicates. ``orphaned`` counts the keys that were skipped
    because of documents which this run removed, ``uncovered`` those skipped
    because of documents whose new text does not cover the former one,
    ``passed_over`` the files, and the parts of sources, that are no documents,
    ``undecodable`` the documents with bytes that could not be read in their
    encoding, ``detected``
    those whose encoding was detected, by its name, ``unflagged`` the documents
    that were flagged because of such which changed, and are originals now.
    ``displaced`` counts stored documents that were originals until this run
    brought an earlier one that they duplicate: they stay stored, flagged.
    ``repeated`` counts records that took the place of one which the same run
    had stored under their key, perhaps from another source, with other content:
    only the last record of a key is stored; ``repeated_keys`` are the first
    three such keys. Records that say when they were seen are versions, and not
    counted.
    ``markup`` counts documents whose text holds HTML, which is stored as it is.
    ``other_folder`` counts documents that were replaced by a file of the same
    relative name in another folder; ``other_folder_keys`` are the first three.
    """

    run_id: int | None = None
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    identical_texts: int = 0
    rejected: int = 0
    byte_count: int = 0
    interrupted: bool = False
    resumed_at: Mapping[str, int] = field(default_factory=dict)
    flagged: int = 0
    skipped: int = 0
    orphaned: int = 0
    uncovered: int = 0
    passed_over: int = 0
    undecodable: int = 0
    unflagged: int = 0
    detected: Mapping[str, int] = field(default_factory=dict)
    displaced: int = 0
    repeated: int = 0
    repeated_keys: tuple[str, ...] = ()
    markup: int = 0
    other_folder: int = 0
    other_folder_keys: tuple[str, ...] = ()

    @property
    def document_count(self) -> int:
        """Records that were read and accepted."""
        return self.added + self.updated + self.unchanged + self.flagged + self.skipped


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Duplicate(Shown):
    """A document that a check before the insert found to duplicate another.

    >>> store.add("copy", text, on_duplicate="flag")
    'flagged'
    >>> found = store.duplicates.of("copy")
    >>> found.original, found.state, found.basis
    ('ferry-2025', 'flagged', 'same')

    Attributes:
        digest: BLAKE2b-128 of its text, hexadecimal.
        state: ``flagged``: it is stored; ``skipped``: only this is;
            ``uncovered``: it was skipped, and the text of its original no
            longer says all that the former one said; ``orphaned``: it was
            skipped, and its original was removed. Keys of the last two states
            should be ingested again.
        original: Key of the document that it duplicates.
        distance: Of the two fingerprints, bits; None where one has none.
        resemblance: Of the two texts, 0 to 1; None where nothing tells it.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``:
            estimated; ``distance``: that of the fingerprints, where there is
            nothing else to compare.
        run_id: The ingest run that found it.
    """

    key: str
    digest: str
    state: DuplicateState
    original: str
    distance: int | None
    resemblance: float | None
    basis: Literal["same", "text", "sketch", "distance"]
    run_id: int
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True, repr=False)
class IngestProgress(Shown):
    """Progress of a running ingest. Counts are of committed records.

    >>> observer = Observer(on_progress=lambda done: print(done.document_count))
    >>> store.add_many({"soup": "Boil the bones."}, observer=observer).added
    1
    1
    """

    source: str
    byte_count: int
    total_bytes: int | None
    document_count: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExpireSummary(Shown):
    """Summary of an expiry: the documents it removed, or would remove.

    >>> summary = store.expire(not_seen_since="90d", dry_run=True)
    >>> summary.removed, summary.dry_run
    (0, True)

    Attributes:
        since: What was last seen before this time expired, in seconds since
            1970-01-01 UTC.
        removed: Documents.
        forgotten: Keys that had been skipped as duplicates, or were orphans.
        orphans: Keys that were skipped as duplicates of documents that expired,
            and were seen since: they should be ingested again.
        dry_run: Nothing was removed.
        unflagged: Documents that stay, were flagged as duplicates of ones that
            expired, and are originals now.
    """

    since: int
    removed: int
    forgotten: int
    orphans: tuple[str, ...]
    dry_run: bool = False
    unflagged: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class RefreshSummary(Shown):
    """Summary of a refresh: the generation that stands now and its contents.

    >>> summary = store.vocabulary.refresh()
    >>> summary.document_count, summary.switched
    (3, False)
    """

    generation_id: int | None
    document_count: int
    switched: bool
