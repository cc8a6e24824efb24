"""The values that pass between the rooms of the house: frozen, typed, without behaviour.

Keys are ``str``. Bytes of a key that are not UTF-8 are surrogate escapes (PEP 383), as in
``os.fsdecode``, so that every byte string is a key and comes back unchanged.
Times are seconds since 1970-01-01 UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["added", "updated", "unchanged", "flagged", "skipped"]
OnDuplicate = Literal["keep", "flag", "skip"]
DuplicateState = Literal["flagged", "skipped", "orphaned"]
SeenState = Literal["stored", "flagged", "skipped", "orphaned"]
Policy = Literal["live", "frozen"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its key, as it comes from a caller or a source.

    Attributes:
        key: The caller's id: page id, URL, path. Never empty.
        text: The text. Bytes that are not UTF-8 are surrogate escapes.
        title: Title, where the source knows one.
        collection: Name of the collection it belongs to.
        metadata: Further fields, JSON values.
        position: Number of the record in its source, from 0.
        byte_offset: Where the record begins in its (decompressed) source.
        end_offset: Where the next record begins.
        seen_at: When the source saw it, the date of a crawl; None: when it is ingested.
        published_at: When it was published, as the page says; None: nobody says so.
        links: Keys of documents that its page links to.
        seen_since: When the source first saw it, where that was before ``seen_at``.
    """

    key: str
    text: str
    title: str | None = None
    collection: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    position: int | None = None
    byte_offset: int | None = None
    end_offset: int | None = None
    seen_at: int | None = None
    published_at: int | None = None
    links: tuple[str, ...] = ()
    seen_since: int | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that cannot be stored, and why.

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


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A part of a source that is no document and shall be none: a picture in an archive.

    It is counted and told, and nothing of it is kept.

    Attributes:
        source: Name of the source.
        position: Its number among the records of the source, from 0.
        byte_offset: Where it begins in the (decompressed) source.
        end_offset: Where the next record begins.
        reason: Why, in a few words.
        seen_key: Key of a document that was seen again with the text it had, as a web archive
            tells; None: it tells nothing of the kind.
        seen_at: When.
    """

    source: str
    position: int
    byte_offset: int
    end_offset: int
    reason: str
    seen_key: str | None = None
    seen_at: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRejection:
    """A rejection as the store remembers it."""

    reject_id: int
    run_id: int
    rejected_at: int
    rejection: Rejection


@dataclass(frozen=True, slots=True)
class SourceState:
    """How far a source was ingested.

    Attributes:
        size: Size in bytes; None for a stream.
        modified_ns: Time of the last change, nanoseconds; None for a stream.
        head_digest: Digest of the first bytes; empty for a stream.
        reader: The reader and its options; another reader begins anew.
        position: Records committed.
        byte_offset: Where the next record begins.
        complete: The source was read to its end.
    """

    size: int | None
    modified_ns: int | None
    head_digest: bytes
    reader: str
    position: int = 0
    byte_offset: int = 0
    complete: bool = False

    def is_same_content(self, other: SourceState) -> bool:
        """Return whether both describe the same bytes read the same way."""
        return self.size is not None and (
            (self.size, self.modified_ns, self.head_digest, self.reader)
            == (other.size, other.modified_ns, other.head_digest, other.reader)
        )


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What an ingest run did.

    Each record is counted once, as added, updated, unchanged, flagged, skipped or rejected.
    ``duplicates`` counts documents that were added, updated or flagged and whose content is stored
    under another key too. ``orphaned`` counts the keys that were skipped because of documents
    which this run removed or changed, ``passed_over`` the parts of sources that shall be none,
    ``undecodable`` the documents with bytes that could not be read in their encoding.
    """

    run_id: int | None = None
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    rejected: int = 0
    byte_count: int = 0
    interrupted: bool = False
    resumed_at: Mapping[str, int] = field(default_factory=dict)
    flagged: int = 0
    skipped: int = 0
    orphaned: int = 0
    passed_over: int = 0
    undecodable: int = 0

    @property
    def document_count(self) -> int:
        """Records that were read and accepted."""
        return self.added + self.updated + self.unchanged + self.flagged + self.skipped


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that a check before the insert found to duplicate another.

    Attributes:
        digest: BLAKE2b-128 of its text, hexadecimal.
        state: ``flagged``: it is stored; ``skipped``: only this is; ``orphaned``: it was skipped,
            and its original has gone or has other content: it should be ingested again.
        original: Key of the document that it duplicates.
        distance: Of the two fingerprints, bits; None where one has none.
        resemblance: Of the two texts, 0 to 1.
        basis: ``same``: one text; ``text``: compared exactly; ``sketch``: estimated.
        run_id: The ingest run that found it.
    """

    key: str
    digest: str
    state: DuplicateState
    original: str
    distance: int | None
    resemblance: float
    basis: Literal["same", "text", "sketch"]
    run_id: int
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far a running ingest is. Counts are of committed records."""

    source: str
    byte_count: int
    total_bytes: int | None
    document_count: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a key that was seen.

    Attributes:
        state: ``stored``; ``flagged``: stored, as a duplicate of its original; ``skipped``: not
            stored, as a duplicate; ``orphaned``: it was skipped, and its original has gone or has
            other content.
        original: Key of the document that it duplicates, or did; None where it is stored for
            itself.
        digest: BLAKE2b-128 of the text it was last seen with, hexadecimal.
    """

    key: str
    state: SeenState
    original: str | None
    digest: str
    first_seen: int
    last_seen: int


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a document, and between which times it was seen.

    Attributes:
        digest: BLAKE2b-128 of its text, hexadecimal.
        first_seen: First visit.
        last_seen: Last visit.
        visits: Visits that are known of.
    """

    digest: str
    first_seen: int
    last_seen: int
    visits: int


@dataclass(frozen=True, slots=True)
class Relative:
    """A document beside one that it resembles.

    Attributes:
        relation: ``same text``; ``cluster``: of one kept cluster; ``duplicate``: one was flagged
            or skipped because of the other, or both because of a third.
        first_seen_basis: Who says when it was first seen: ``ingest``, ``crawl`` or ``published``;
            None: it was skipped, and that is not kept.
        resemblance: Of the two texts, 0 to 1; None where there is nothing to tell it by.
        distance: Of the two fingerprints, bits; None where one has none.
        links_to: Keys of the relatives, or of the document itself, that it links to.
        site_revisit_seconds: How often documents of its site are visited; None: unknown.
    """

    key: str
    state: SeenState
    relation: Literal["same text", "cluster", "duplicate"]
    first_seen: int
    first_seen_basis: str | None
    last_seen: int
    resemblance: float | None
    distance: int | None
    links_to: tuple[str, ...]
    site_revisit_seconds: float | None


@dataclass(frozen=True, slots=True)
class Story:
    """What became of a key: when it was seen, what is like it, and which is the original.

    Attributes:
        first_seen_basis: As of :class:`Relative`.
        duplicate_of: Key of the document that it duplicates, by the check before the insert.
        versions: Its versions, the present one at the end; none where it was skipped.
        revisit_seconds: Mean time between visits; None before the second.
        site: Host of a key that is an address; None where it is none.
        site_revisit_seconds: Median of ``revisit_seconds`` of the documents of the site; where
            the key is no address, its own.
        links_to: Keys of its relatives that it links to.
        cluster_id: The kept cluster that it is in; None where it is in none.
        relatives: Documents with the same text, of its cluster, and its duplicates; at most 1,000
            of each, by the time of first sight.
        original: Key of the one that is the original.
        reason: Why.
    """

    key: str
    state: SeenState
    first_seen: int
    first_seen_basis: str | None
    last_seen: int
    duplicate_of: str | None
    versions: tuple[Version, ...]
    revisit_seconds: float | None
    site: str | None
    site_revisit_seconds: float | None
    links_to: tuple[str, ...]
    cluster_id: int | None
    relatives: tuple[Relative, ...]
    original: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExpireSummary:
    """What an expiry removed, or would remove.

    Attributes:
        since: What was last seen before this time expired, in seconds since 1970-01-01 UTC.
        removed: Documents.
        forgotten: Keys that had been skipped as duplicates, or were orphans.
        orphans: Keys that were skipped as duplicates of documents that expired, and were seen
            since: they should be ingested again.
        dry_run: Nothing was removed.
    """

    since: int
    removed: int
    forgotten: int
    orphans: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the store holds it.

    Attributes:
        fingerprint: Zero-padded hexadecimal; None while it waits for its generation.
        duplicate_of: Key of the earliest other document with the same content.
        text: The text; None where the store keeps none, or it was not asked for.
    """

    document_id: int
    key: str
    digest: str
    title: str | None
    collection: str | None
    source: str | None
    position: int | None
    byte_offset: int | None
    byte_count: int
    token_count: int
    metadata: Mapping[str, Any]
    first_seen: int
    last_seen: int
    revision: int
    run_id: int
    fingerprint: str | None = None
    duplicate_of: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A stored document near a sample.

    Resemblance and containment are of the sets of shingles; None where they were not asked for,
    or the store keeps neither text nor sketch.

    Attributes:
        key: Key of the document.
        distance: Hamming distance of the fingerprints, in bits; None without fingerprints.
        document_id: Its place in the order of ingest.
        channels: What found it: ``simhash``: within the radius; ``minhash``: the sketches agree
            in a band.
        resemblance: |A∩B| / |A∪B|, 0 to 1.
        containment: |A∩B| / |A|, how much of the sample is in the document, 0 to 1.
        containment_reverse: |A∩B| / |B|, how much of the document is in the sample, 0 to 1.
        basis: ``text``: the three are exact; ``sketch``: they are estimates.
        likeness: Cosine of the two texts' terms, weighted by how rare they are in the store, 0 to
            1; None where it was not asked for, or the store keeps no text or no vocabulary.
        cosine: The same, weighted by their counts alone.
    """

    key: str
    distance: int | None
    document_id: int
    channels: tuple[str, ...] = ("simhash",)
    resemblance: float | None = None
    containment: float | None = None
    containment_reverse: float | None = None
    basis: str | None = None
    likeness: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How to look.

    Attributes:
        radius: Largest accepted Hamming distance, in bits, inclusive; None: min(3, bits).
        first: Stop at the first match of each sample. Which of several matches that is depends
            on the plan.
        limit: Most matches a sample; None: all.
        exclude_self: Leave out the document whose key is the sample's.
        collection: Only documents of this collection.
        since: Only documents first seen at or after this time.
        where: Only documents whose metadata fields have these values, compared as text.
        plan: ``auto`` or how to look; the matches are the same. ``scan``, ``segments``, and the
            methods of :mod:`simstore.search.classic`.
        channels: By which to look; none: all that the store has.
        verify: Tell resemblance and containment of each match.
        min_resemblance: Only matches of this resemblance, 0 to 1.
        min_containment: Only matches of this containment of the sample in the document, 0 to 1.
        likeness: Tell likeness and cosine of each match.
        min_likeness: Only matches of this likeness, 0 to 1.
        min_cosine: Only matches of this cosine, 0 to 1.
        min_features: Texts of fewer features are too short to judge by their likeness: they match
            only where one wholly contains the other. None: 8 with the scheme ``web``, 0 with
            ``simtool``.
    """

    radius: int | None = None
    first: bool = False
    limit: int | None = None
    exclude_self: bool = False
    collection: str | None = None
    since: int | None = None
    where: tuple[tuple[str, str], ...] = ()
    plan: Literal["auto", "scan", "probe", "expanded", "tables4", "tables16", "segments"] = "auto"
    channels: tuple[str, ...] = ()
    verify: bool = True
    min_resemblance: float | None = None
    min_containment: float | None = None
    min_features: int | None = None
    likeness: bool = False
    min_likeness: float | None = None
    min_cosine: float | None = None

    @property
    def asks_likeness(self) -> bool:
        """Return whether likeness and cosine are to be told or to be filtered by."""
        return self.likeness or self.min_likeness is not None or self.min_cosine is not None

    @property
    def filters_by_text(self) -> bool:
        """Return whether a threshold depends on more than the fingerprints."""
        thresholds = (
            self.min_resemblance, self.min_containment, self.min_likeness, self.min_cosine,
        )  # fmt: skip
        return any(threshold is not None for threshold in thresholds)


@dataclass(frozen=True, slots=True)
class SampleExplanation:
    """What one sample cost.

    Attributes:
        method: ``segments``, ``scan``, or the plan that was asked for; ``none`` without
            fingerprints.
        thresholds: Bits flipped in each segment; -1: the segment is not looked at.
        probe_count: Segment values looked up.
        candidate_count: Postings compared; a fingerprint counts for each probe that it shares.
        seconds: Wall time.
        band_candidate_count: Sketches that agree in a band.
        verified_count: Documents whose resemblance was computed.
    """

    method: str
    thresholds: tuple[int, ...]
    probe_count: int
    candidate_count: int
    seconds: float
    band_candidate_count: int = 0
    verified_count: int = 0


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The matches of one sample, by distance, then order of ingest.

    Attributes:
        fingerprint: Zero-padded hexadecimal; empty without fingerprints.
        too_short: The sample has too few features to be judged by its likeness.
    """

    key: str
    fingerprint: str
    matches: tuple[Match, ...]
    explanation: SampleExplanation | None = None
    too_short: bool = False


@dataclass(frozen=True, slots=True)
class QueryRun:
    """The answer to a query.

    Attributes:
        run_id: Number under which the run is recorded; None where it is not.
        radius: The radius that was used, in bits.
        bits: Fingerprint length.
        scheme: Scheme of the store.
        samples: One result a sample, in the order of the samples.
        stale: Why the standing generation does not cover every document; None where it does.
        not_recorded: Why the run is not recorded, where it should be.
        rejections: Samples that could not be read.
    """

    run_id: int | None
    radius: int
    bits: int
    scheme: str
    samples: tuple[SampleResult, ...]
    stale: str | None = None
    not_recorded: str | None = None
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class VocabularyTerm:
    """A feature of the store's vocabulary.

    Attributes:
        rank: Its rank in the standing generation, from 0; None where it has none.
        term: The feature, UTF-8.
        document_count: Documents it occurs in.
        total_count: Occurrences in all documents.
    """

    rank: int | None
    term: str
    document_count: int
    total_count: int


@dataclass(frozen=True, slots=True)
class VocabularyStatus:
    """The vocabulary and its standing generation.

    Attributes:
        generation_id: The standing generation; None before the first.
        fresh: It covers every stored document and the present vocabulary.
        term_count: Features that the vocabulary knows.
        rank_count: Ranks of the standing generation; for weights by document frequency, features
            whose frequency it has.
        changed_ranks: Ranks that would hold another feature after a refresh; features whose
            frequency would be another.
        entering_terms: Features that would enter the first N; that the generation does not have.
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


@dataclass(frozen=True, slots=True)
class RefreshSummary:
    """What a refresh did: the generation that stands now and what it holds."""

    generation_id: int | None
    document_count: int
    switched: bool


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """A store in numbers.

    Attributes:
        distinct_fingerprints: Distinct fingerprints of the standing generation.
        packed_fingerprints: Those of them that are in segment pages.
        sketch_count: Documents that have a sketch.
        sketch_bytes: Bytes of the sketches and of their pages.
        unpacked_sketches: Sketches that are in no page yet.
        bands: How sketches are cut, bands x values; empty without sketches.
    """

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
    sketch_bytes: int
    unpacked_sketches: int
    bands: str
    text_bytes: int
    stored_text_bytes: int
    file_bytes: int
    term_count: int
    ingest_run_count: int
    query_run_count: int
    reject_count: int
    generation_id: int | None
    fresh: bool
    first_seen: int | None
    last_seen: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken invariant that ``fsck`` found, and the remedy."""

    invariant: str
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ComparedText:
    """One of two texts that were compared, in numbers.

    Attributes:
        name: Key, path, or ``-``.
        byte_count: Bytes of the text in UTF-8.
        character_count: Characters from which shingles are cut.
        shingle_count: Shingles, with repetitions.
        distinct_shingles: Distinct shingles.
        feature_count: Features, with repetitions.
        distinct_features: Distinct features.
    """

    name: str
    byte_count: int
    character_count: int
    shingle_count: int
    distinct_shingles: int
    feature_count: int
    distinct_features: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one algorithm says of two texts.

    Attributes:
        algorithm: Its name.
        values: Its measures by name, in order; None where a measure is not defined for the texts.
        detail: What the measures go by, in words.
        seconds: Time from the texts to the measures, steps shared with other algorithms included.
    """

    algorithm: str
    values: Mapping[str, float | int | bool | str | None]
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts, and what every algorithm says of them.

    Attributes:
        first: The first text, A.
        second: The second text, B.
        measurements: One an algorithm, in a fixed order.
        similar: The resemblance of the shingles reaches the threshold; None where neither text
            has a shingle.
    """

    first: ComparedText
    second: ComparedText
    measurements: tuple[Measurement, ...]
    similar: bool | None

    def measurement(self, algorithm: str) -> Measurement:
        """Return what an algorithm says.

        Raises:
            KeyError: There is none of this name.
        """
        for found in self.measurements:
            if found.algorithm == algorithm:
                return found
        raise KeyError(algorithm)


@dataclass(frozen=True, slots=True)
class LeastShares:
    """What two documents have to reach to stand together: one of the two thresholds.

    Attributes:
        resemblance: Least resemblance, inclusive; None: it does not count.
        likeness: Least likeness, inclusive; None: it does not count.
        cosine: Least cosine that goes with the likeness, inclusive.
    """

    resemblance: float | None
    likeness: float | None = None
    cosine: float = 0.0


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A document of a cluster, beside the cluster's canonical document.

    Attributes:
        key: Its key.
        document_id: Its place in the order of ingest.
        resemblance: Resemblance to the canonical document, 0 to 1.
        likeness: Likeness to it, 0 to 1; None where no likeness was asked for.
        distance: Hamming distance to it, in bits; None where one of the two has no fingerprint.
        basis: ``same``: it has the very text of the canonical document, or is it; ``text``: the
            resemblance is exact; ``sketch``: it is an estimate.
    """

    key: str
    document_id: int
    resemblance: float
    distance: int | None
    basis: Literal["same", "text", "sketch"]
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A canonical document and those that resemble it.

    Attributes:
        key: Key of the canonical document.
        members: All documents of the cluster by the policy's order, the canonical one in front.
    """

    key: str
    members: tuple[ClusterMember, ...]


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters of the documents of a store.

    Attributes:
        clusters: Those of the least size, by the policy's order of their canonical documents.
        document_count: Documents that were looked at.
        too_short_count: Of those, how many are too short to be judged by their likeness.
        radius: Radius of channel 1, in bits; None where the edges are those of the exact join, or
            the store has no fingerprints.
        basis: ``text`` or ``sketch``: by which the edges were verified.
        stale: Why the standing generation does not cover every document; None where it does.
        least: What a member has to reach one of.
    """

    clusters: tuple[Cluster, ...]
    document_count: int
    too_short_count: int
    radius: int | None
    basis: Literal["text", "sketch"]
    stale: str | None
    least: LeastShares


@dataclass(frozen=True, slots=True)
class KeptCluster:
    """A cluster that is kept up.

    Attributes:
        cluster_id: Its name, given to no other.
        key: Key of the canonical document.
        members: All documents of the cluster by the policy's order, the canonical one in front.
    """

    cluster_id: int
    key: str
    members: tuple[ClusterMember, ...]


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """Where a document stands among the clusters that are kept.

    Attributes:
        cluster_id: The name of its cluster.
        canonical_key: Key of the canonical document.
        member: The document, beside the canonical one.
    """

    cluster_id: int
    canonical_key: str
    member: ClusterMember

    @property
    def is_canonical(self) -> bool:
        """Return whether the document is the canonical one."""
        return self.member.key == self.canonical_key


@dataclass(frozen=True, slots=True)
class ClusterMerge:
    """A cluster that has ended.

    Attributes:
        cluster_id: Its name.
        merged_into: The cluster that its documents came to; None where none was left.
        ended_at: When, in seconds since 1970-01-01 UTC.
    """

    cluster_id: int
    merged_into: int | None
    ended_at: int


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """What there is of the clusters that a store keeps.

    Attributes:
        min_resemblance: Least resemblance of a member to its canonical document, inclusive.
        policy: ``first``, ``longest`` or ``prefer:REGEX``.
        radius: Radius of channel 1, in bits; None: not by fingerprints.
        basis: ``text`` or ``sketch``: by which edges are verified.
        text_count: Distinct texts that are in clusters.
        cluster_count: Clusters, those of one document too.
        waiting_count: Texts whose documents changed and that are still to be dealt with.
        is_current: The clusters are made by what stands now; else they are to be made anew.
        updated_at: When they were last brought up to date, in seconds since 1970-01-01 UTC.
        largest_count: Documents of the largest cluster; None where it was not asked for.
        made_anew: They were made from the first now.
    """

    min_resemblance: float
    policy: str
    radius: int | None
    basis: Literal["text", "sketch"]
    text_count: int
    cluster_count: int
    waiting_count: int
    is_current: bool
    updated_at: int
    largest_count: int | None = None
    made_anew: bool = False
