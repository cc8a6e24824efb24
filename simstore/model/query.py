"""Options and results of a query: the stored documents near each query text (sample)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from simstore.model.documents import (
    Decoding,
    DocumentFilter,
    DocumentFilterKeywords,
    TimeOrAge,
)
from simstore.model.ingest import Rejection
from simstore.model.results import Shown
from simstore.model.times import moment_given

# Where no radius is given, in bits (Manku, Jain, Das Sarma, WWW 2007), or the length of shorter
# fingerprints. Queries, clusters, duplicates and `simtool` go by it.
DEFAULT_RADIUS = 3

# The warning that a filter names a field of metadata which is perhaps misspelt.
NO_SUCH_FIELD = "no stored document has the metadata field %s"

PlanName = Literal[
    "auto",
    "scan",
    "probe",
    "interpolation",
    "expanded",
    "tables4",
    "tables10",
    "tables16",
    "tables20",
    "segments",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Match(Shown):
    """A stored document near a sample.

    >>> match = store.query(text, limit=1)[0]
    >>> match.key, match.distance, match.resemblance
    ('ferry-2025', 0, 1.0)

    Resemblance and containment are of the sets of shingles; None where they
    were not asked for, or the store keeps neither text nor sketch.

    Attributes:
        key: Key of the document.
        distance: Hamming distance of the fingerprints, in bits; None without
            fingerprints.
        document_id: Its place in the order of ingest.
        channels: What found it: ``simhash``: within the radius; ``minhash``:
            the sketches agree in a band; ``characters``: the same of runs of
            characters, and enough of them are the same; ``sentences``: it has a
            sentence that is like one of the sample.
        resemblance: |A∩B| / |A∪B|, 0 to 1.
        containment: |A∩B| / |A|, how much of the sample is in the document, 0
            to 1.
        containment_reverse: |A∩B| / |B|, how much of the document is in the
            sample, 0 to 1.
        basis: ``text``: the three are exact; ``sketch``: they are estimates.
        passage_start: Where the sentence that is like one of the sample begins
            in the document's text, in characters; None where no sentence was
            found.
        passage_end: The character behind its last.
        passage_similarity: 2 M / (a + b): of the a and b words, or characters
            of scripts without blanks, of the two sentences, M are the same in
            one order.
        character_resemblance: |A∩B| / |A∪B| of the sets of runs of characters,
            0 to 1; None where the channel ``characters`` did not find it. An
            estimate where the store keeps no texts.
        title: The document's title, where it has one.
        author: Who wrote it, where the document says so; several with commas.
        date: When it was published, where the document says so.
        url: Its address, where the document has one, or its key is one.
    """

    _FIRST = ("key", "resemblance", "containment", "distance")

    key: str
    distance: int | None
    document_id: int
    channels: tuple[str, ...] = ("simhash",)
    resemblance: float | None = None
    containment: float | None = None
    containment_reverse: float | None = None
    basis: str | None = None
    passage_start: int | None = None
    passage_end: int | None = None
    passage_similarity: float | None = None
    character_resemblance: float | None = None
    title: str | None = None
    author: str | None = None
    date: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(DocumentFilter):
    """Options of a query.

    >>> options = QueryOptions(radius=6, limit=2)
    >>> [match.key for match in store.query(text, options)]
    ['ferry-2025', 'ferry-2026']

    Attributes:
        radius: Largest accepted Hamming distance, in bits, inclusive; None: the
            default.
        first: Stop at the first match of each sample. Which of several matches
            that is depends on the plan.
        limit: Most matches a sample; None: all.
        exclude_self: Leave out the document whose key is the sample's.
        collection: Only documents of this collection.
        since: Only documents first seen at or after this time: a datetime or
            date, ISO 8601 or seconds since 1970; or so long ago: a timedelta,
            or ``30d``. It is held in seconds since 1970.
        where: Only documents whose metadata fields have these values: a mapping
            or pairs. Numbers are compared as numbers, all else as text.
        plan: ``auto`` or how to look; the matches are the same. ``scan``,
            ``segments``, and the methods of :mod:`simstore.classic`.
        channels: By which to look: ``simhash``, ``minhash``, ``characters``,
            ``sentences`` (of samples of at most 64 words or characters, in a
            passage index); none: all that the store has. A store of the scheme
            ``simtool`` is asked by ``simhash`` then, as the course tool does,
            unless a threshold is given.
        verify: Tell resemblance and containment of each match.
        min_resemblance: Only matches of this resemblance, 0 to 1.
        min_containment: Only matches of this containment of the sample in the
            document, 0 to 1.
        min_character_resemblance: Only matches of the channel ``characters``
            with this share of all runs of characters in common, 0.2 to 1; 0.2
            is what it tells without.
        min_features: Texts of fewer features are too short to judge by their
            resemblance: they match only where one contains the other. None: 8
            with the scheme ``web``, 0 with ``simtool``.
    """

    radius: int | None = None
    first: bool = False
    limit: int | None = None
    exclude_self: bool = False
    since: TimeOrAge | None = None
    where: (
        tuple[tuple[str, str | int | float | bool], ...] | Mapping[str, str | int | float | bool]
    ) = ()
    plan: PlanName = "auto"
    channels: tuple[str, ...] = ()
    verify: bool = True
    min_resemblance: float | None = None
    min_containment: float | None = None
    min_features: int | None = None
    min_character_resemblance: float | None = None

    def __post_init__(self) -> None:
        DocumentFilter.__post_init__(self)
        if self.since is not None:
            object.__setattr__(self, "since", moment_given("since", self.since))

    @property
    def conditions(self) -> tuple[tuple[str, str | int | float | bool], ...]:
        """Return the fields and values of ``where``."""
        return tuple(self.where.items() if isinstance(self.where, Mapping) else self.where)

    @property
    def first_seen_from(self) -> int | None:
        """Return the time of ``since``, in seconds since 1970."""
        return None if self.since is None else moment_given("since", self.since)

    @property
    def filters_by_text(self) -> bool:
        """Return whether a threshold depends on more than the fingerprints."""
        return self.min_resemblance is not None or self.min_containment is not None


class QueryKeywords(DocumentFilterKeywords, total=False):
    """The options of a query by name, as :class:`QueryOptions` describes them."""

    radius: int | None
    first: bool
    limit: int | None
    exclude_self: bool
    since: TimeOrAge | None
    where: tuple[tuple[str, str | int | float | bool], ...] | Mapping[str, str | int | float | bool]
    plan: PlanName
    channels: tuple[str, ...]
    verify: bool
    min_resemblance: float | None
    min_containment: float | None
    min_features: int | None
    min_character_resemblance: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleExplanation(Shown):
    """The plan and the cost of the search for one sample.

    >>> (result,) = store.query_many([text], plan="scan")
    >>> result.explanation.method, result.explanation.verified_count
    ('scan', 2)

    Attributes:
        method: What ran. ``segments``: postings of the store were read;
            ``sorted``: all fingerprints, sorted in memory, were looked up by
            segments; ``scan``: all were compared; a classic plan, if
            requested; ``none`` without fingerprints.
        thresholds: Bits flipped in each segment; -1: the segment is not looked
            at.
        probe_count: Segment values looked up.
        candidate_count: Postings compared; a fingerprint counts for each probe
            that it shares.
        seconds: Wall time; of many samples at once, an equal share.
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleResult(Shown):
    """The matches of one sample, by distance, then order of ingest.

    >>> (result,) = store.query_many([("sample", text)])
    >>> result.key, [match.key for match in result.matches]
    ('sample', ['ferry-2025', 'ferry-2026'])

    Matches of its sentences alone come last.

    Attributes:
        fingerprint: Zero-padded hexadecimal; empty without fingerprints.
        too_short: The sample has too few features to be judged by its likeness.
        decoding: How its bytes were decoded, where that may be wrong or has
            lost some.
    """

    _SHAPE = "matches"
    _PARTS = ("matches", Match)

    key: str
    fingerprint: str
    matches: tuple[Match, ...]
    explanation: SampleExplanation | None = None
    too_short: bool = False
    decoding: Decoding | None = None

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)

    def __bool__(self) -> bool:
        """A result is one, whether it has matches or not."""
        return True

    def __getitem__(self, place: int) -> Match:
        return self.matches[place]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryRun(Shown):
    """The answer to a query: a sequence of the results of its samples.

    >>> run = store.query_many({"sample": text, "oats": "Oats."})
    >>> [(result.key, len(result.matches)) for result in run]
    [('sample', 2), ('oats', 0)]

    Attributes:
        run_id: Number under which the run is recorded; None where it is not.
        radius: The radius that was used, in bits.
        bits: Fingerprint length.
        scheme: Scheme of the store.
        samples: One result a sample, in the order of the samples.
        stale: Why the standing generation does not cover every document; None
            where it does.
        not_recorded: Why the run is not recorded, where it should be.
        rejections: Samples that could not be read.
        unknown_fields: Fields of ``where`` that no document has; looked for
            if nothing was found.
    """

    _HOLDS = ("samples", SampleResult)

    run_id: int | None
    radius: int
    bits: int
    scheme: str
    samples: tuple[SampleResult, ...]
    stale: str | None = None
    not_recorded: str | None = None
    rejections: tuple[Rejection, ...] = ()
    unknown_fields: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SampleResult]:
        return iter(self.samples)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, place: int) -> SampleResult:
        return self.samples[place]
