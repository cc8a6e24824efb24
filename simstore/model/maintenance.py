"""Result types of maintenance: statistics of a store, its vocabulary and its passage index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from simstore.model.ingest import OnDuplicate, Policy
from simstore.model.results import Shown

# Told of long work: how much is done, and how much there is.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, repr=False)
class VocabularyTerm(Shown):
    """A feature of the store's vocabulary.

    >>> (term,) = store.vocabulary.terms(limit=1)
    >>> term.term, term.document_count
    ('the', 3)

    Attributes:
        rank: Its rank in the standing generation, from 0; None where it has
            none.
        term: The feature, UTF-8.
        document_count: Documents it occurs in.
        total_count: Occurrences in all documents.
    """

    rank: int | None
    term: str
    document_count: int
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VocabularyStatus(Shown):
    """Statistics of the vocabulary and the fingerprints made of it.

    >>> status = store.vocabulary.status()
    >>> status.scheme, status.policy, status.waiting
    ('web/1', 'live', 0)

    Attributes:
        generation_id: The standing generation; None before the first.
        fresh: It covers every stored document and the present vocabulary.
        term_count: Features that the vocabulary knows.
        rank_count: Ranks of the standing generation; for weights by document
            frequency, features whose frequency it has.
        changed_ranks: Ranks that would hold another feature after a refresh;
            features whose frequency would be another.
        entering_terms: Features that would enter the first N; that the
            generation does not have.
        sampled: Documents looked at for ``changed_fingerprints``.
        changed_fingerprints: Of those, how many would get another fingerprint.
        waiting: Documents without a fingerprint in the standing generation.
    """

    scheme: str
    policy: Policy
    generation_id: int | None
    fresh: bool
    term_count: int
    rank_count: int
    changed_ranks: int
    entering_terms: int
    sampled: int
    changed_fingerprints: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PassageStatus(Shown):
    """Statistics of a passage index.

    >>> status = store.passages.build()
    >>> status.document_count, status.complete, status.least_words
    (3, True, 8)

    Attributes:
        cut: ``sentences`` or ``window``.
        window: Characters of a window; None for sentences.
        least_words: A copied run of so many words is certain to be found.
        least_characters: The same of a script without blanks between words.
        complete: Every document has its entry; else the index is being built.
        waiting_count: Documents that have none yet.
        document_count: Documents that have theirs.
        passage_count: Their passages.
        anchor_count: Their anchors.
        stale_count: Stored postings of texts that are gone; the next merge
            leaves them out.
        unpacked_count: Postings that are in no run yet.
        run_count: Runs that a look-up reads.
        stored_bytes: Bytes of all that, without the tables' own; None: not
            counted.
        fingerprints: Whether each passage has a fingerprint besides.
        sentences: Whether terms of sentences are kept, by which edited ones are
            found.
        term_count: The terms.
        other_form: It compares texts in another form than the store's scheme
            does since a reindex; a rebuilt index has the scheme's form.
    """

    cut: str
    window: int | None
    least_words: int
    least_characters: int
    complete: bool
    waiting_count: int
    document_count: int
    passage_count: int
    anchor_count: int
    stale_count: int
    unpacked_count: int
    run_count: int
    stored_bytes: int | None
    fingerprints: bool
    sentences: bool
    term_count: int
    other_form: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoreStatistics(Shown):
    """Statistics of a store.

    >>> stats = store.stats()
    >>> stats.document_count, stats.text_kept, stats.on_duplicate
    (3, True, 'keep')

    Attributes:
        distinct_fingerprints: Distinct fingerprints of the standing generation.
        packed_fingerprints: Those of them that are in segment pages.
        sketch_count: Documents that have a sketch.
        sketch_bytes: Bytes of the sketches and of their pages; None: not
            counted.
        unpacked_sketches: Sketches that are in no page yet.
        bands: How sketches are cut, bands x values; empty without sketches.
        passage_count: Passages of the passage index; 0 where there is none.
        anchor_count: Its anchors.
        stored_text_bytes: Bytes of the texts as they are stored; None: not
            counted.
        passage_bytes: Bytes of the passage index, without the tables' own;
            None: not counted.
        removal_run_count: Runs that removed documents: removals and expiries.
        on_duplicate: What an ingest does with duplicates that is not told.
        min_resemblance: Least resemblance of a duplicate then; None: the usual
            one, or any where there is a radius.
        duplicate_radius: Largest distance of a duplicate then; None: it does
            not count.
        keep_columns: Packed fingerprints keep their indexed segment columns,
            for who asks by SQL.
        flagged_count: Documents that are stored, and flagged as duplicates.
        skipped_count: Keys that were skipped as duplicates of a stored
            document.
        uncovered_count: Keys that were skipped, and whose originals have new
            texts that do not cover the former ones.
        orphaned_count: Keys that were skipped, and whose originals have gone.
        removed_count: Documents and skipped keys that removals and expiries
            took away in all.
        clustered_count: Texts that stand in a kept cluster beside its canonical
            one; None: no clusters are kept.
    """

    _FIRST = ("path", "document_count", "scheme", "bits", "channels", "file_bytes")

    path: str
    revision: str
    scheme: str
    bits: int
    channels: str
    policy: Policy
    text_kept: bool
    vocabulary_recorded: bool
    document_count: int
    distinct_contents: int
    distinct_fingerprints: int
    packed_fingerprints: int
    waiting: int
    sketch_count: int
    sketch_bytes: int | None
    unpacked_sketches: int
    bands: str
    text_bytes: int
    stored_text_bytes: int | None
    file_bytes: int
    term_count: int
    ingest_run_count: int
    query_run_count: int
    reject_count: int
    generation_id: int | None
    fresh: bool
    first_seen: int | None
    last_seen: int | None
    passage_count: int = 0
    anchor_count: int = 0
    passage_bytes: int | None = None
    removal_run_count: int = 0
    on_duplicate: OnDuplicate = "keep"
    min_resemblance: float | None = None
    duplicate_radius: int | None = None
    keep_columns: bool = False
    flagged_count: int = 0
    skipped_count: int = 0
    uncovered_count: int = 0
    orphaned_count: int = 0
    removed_count: int = 0
    clustered_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoreVitals(Shown):
    """Statistics of a store that are quick to compute, for monitoring.

    >>> vitals = store.maintenance.quick_stats()
    >>> vitals.document_count, vitals.reject_count
    (3, 0)

    Attributes:
        fingerprint_count: Distinct fingerprints of the standing generation.
        tail_fingerprints: Those of them that are in no page yet.
        sketch_count: Documents that have a sketch.
        tail_sketches: Sketches that are in no page yet.
        waiting: Documents without a fingerprint in the standing generation.
        follows_corpus: Fingerprints depend on the whole corpus, so that they
            can drift.
        duplicates: Duplicates by their state.
        changes: Grows with each batch that adds or removes a text or changes
            one.
        file_bytes: Size of the file and its log; of a server, of tables and
            indexes.
    """

    document_count: int
    fingerprint_count: int
    tail_fingerprints: int
    sketch_count: int
    tail_sketches: int
    waiting: int
    fresh: bool
    follows_corpus: bool
    duplicates: Mapping[str, int]
    reject_count: int
    changes: int
    file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompactSummary(Shown):
    """The size of a store's file, in bytes, before and after it was compacted.

    >>> summary = store.maintenance.compact()
    >>> summary.bytes_after <= summary.bytes_before
    True
    """

    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UpgradeSummary(Shown):
    """Summary of a schema upgrade.

    >>> summary = upgrade_store("shelf.db")
    >>> summary.revision_before == summary.revision_after, summary.backup
    (True, None)

    Attributes:
        revision_before: The schema's revision before.
        revision_after: And after.
        backup: The copy that was made before; None where nothing was to be
            done.
    """

    revision_before: str
    revision_after: str
    backup: Path | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SchemeFacts(Shown):
    """The scheme of a store.

    >>> scheme = store.maintenance.scheme()
    >>> scheme.label, scheme.bits
    ('web/1', 64)

    Attributes:
        label: Its name and version, as ``web/1``; empty before the first.
        bits: Fingerprint length.
        parameters: Its options.
    """

    label: str
    bits: int
    parameters: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name: ``web``, ``simtool``; ``given``: made elsewhere."""
        return self.label.partition("/")[0]

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the scheme that a server tells of."""
        rest = {name: record[name] for name in record if name not in ("scheme", "bits")}
        return cls(label=str(record["scheme"]), bits=int(record["bits"]), parameters=rest)

    def record(self) -> dict[str, Any]:
        """Return it as JSON values, ``scheme`` and ``bits`` in front."""
        return {"scheme": self.label, "bits": self.bits, **self.parameters}


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Shown):
    """A broken invariant that ``fsck`` found, and the remedy.

    >>> [finding.remedy for finding in store.maintenance.fsck()]
    []
    """

    invariant: str
    detail: str
    remedy: str
