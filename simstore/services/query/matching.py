"""From samples to matches: all channels, filters, verification, order."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.minhash import VALUES
from simstore.fingerprint.minhash import sketches as make_sketches
from simstore.fingerprint.shingle_sets import from_rows
from simstore.fingerprint.sketching import Sketching
from simstore.model import Document, Match, QueryOptions, SampleExplanation, SampleResult
from simstore.search.resemblance import Overlap
from simstore.services.features.prepare import scanned_words
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import State
from simstore.services.query.minhash_channel import MinhashChannel
from simstore.services.query.simhash_channel import Linked, SimhashChannel, SimhashNeighbours
from simstore.services.query.validation import SENTENCES, check_tellable, chosen_channels
from simstore.services.query.verify import Verifier
from simstore.storage import documents
from simstore.storage.damage import corrupt
from simstore.storage.engine import Connection
from simstore.storage.sketches import StoredSketch
from simstore.text.decoding import encode, text_digest

if TYPE_CHECKING:
    from simstore.services.query.sentence_channel import FoundSentence, SentenceChannel


class Matcher:
    """Finds the matches of samples in one snapshot of a store.

    Raises:
        InvalidParameter: The store has not a channel that is asked for.
    """

    def __init__(self, snapshot: Snapshot, options: QueryOptions) -> None:
        self._snapshot = snapshot
        least = options.min_features
        if least is None:
            least = snapshot.scheme.least_features
        self._least = least
        self._options = options
        check_tellable(snapshot, options)
        chosen = chosen_channels(snapshot, options)
        self.channels = chosen
        fingerprinted = snapshot.channels.has_fingerprints
        self._neighbours = SimhashChannel(snapshot, options) if fingerprinted else None
        self._sketches = MinhashChannel(snapshot) if "minhash" in chosen else None
        self._sentences: SentenceChannel | None = None
        if SENTENCES in chosen:
            from simstore.services.query.sentence_channel import SentenceChannel

            self._sentences = SentenceChannel(snapshot)
        self._verifier = Verifier(snapshot)

    def answer(self, samples: Sequence[Document]) -> list[SampleResult]:
        """Return the matches of each sample, by distance, then order of ingest."""
        if not samples:
            return []
        made, words = read_samples(
            self._snapshot, samples, self._neighbours, sketched=self._sketches is not None
        )
        if self._neighbours is not None and words is not None:
            first = self._options.first
            for sample, near in zip(made, self._neighbours.find(words, first=first), strict=True):
                sample.near = near
        if self._sketches is not None:
            judged = [sample for sample in made if sample.shingle_count]
            sketched = np.array([sample.sketch for sample in judged], np.uint16)
            found = self._sketches.find(sketched.reshape(len(judged), VALUES))
            for sample, agreeing in zip(judged, found, strict=True):
                sample.agreeing = agreeing
        if self._sentences is not None:
            for sample in made:
                sample.sentences = self._sentences.find(sample.document.text)
        known = self._known_of(made)
        found_of = [self._filtered(self._found(one, known), one.document.key) for one in made]
        self._read_ahead(made, found_of, known)
        results = []
        for row, (sample, matches) in enumerate(zip(made, found_of, strict=True)):
            result = self._result(sample, matches, known)
            if (
                self._options.first
                and not result.matches
                and self._neighbours
                and words is not None
            ):
                # What was found first may have been filtered out.
                (sample.near,) = self._neighbours.find(words[row : row + 1])
                further = self._known_of([sample])
                matches = self._filtered(self._found(sample, further), sample.document.key)
                result = self._result(sample, matches, further)
            results.append(result)
        return results

    def _known_of(self, made: Sequence[ReadSample]) -> KnownDocuments:
        """Read what is to be known of the documents that any of the samples found."""
        return KnownDocuments(
            self._snapshot.connection,
            self._neighbours.linked if self._neighbours else None,
            [one.near for one in made if one.near] if "simhash" in self.channels else [],
            {number for one in made for number in (*one.agreeing, *one.sentences)},
        )

    def _read_ahead(
        self,
        made: Sequence[ReadSample],
        found: Sequence[Sequence[Match]],
        known: KnownDocuments,
    ) -> None:
        """Read at once the texts that most likely will be compared with a sample."""
        options = self._options
        if not (options.verify or options.filters_by_text):
            return
        limit = 1 if options.first else options.limit
        wanted: dict[bytes, int] = {}
        compared = []
        for sample, matches in zip(made, found, strict=True):
            some = matches if options.filters_by_text else matches[:limit]
            if some:
                compared.append(sample)
            wanted.update((known.sizes[one.document_id][0], one.document_id) for one in some)
        if len(compared) > 1 and self._snapshot.settings.text_kept:
            self._verifier.read_ahead(wanted)
            sets = self._snapshot.channels.sketching.sets([one.document.text for one in compared])
            for place, sample in enumerate(compared):
                sample.known_shingles = sets.row(place)

    def _result(
        self, sample: ReadSample, matches: list[Match], known: KnownDocuments
    ) -> SampleResult:
        started = time.perf_counter()
        near = sample.near
        verified, overlaps = self._judged(sample, matches, known.sizes)
        explanation = SampleExplanation(
            method=near.method if near else "none",
            thresholds=near.thresholds if near else (),
            probe_count=near.probe_count if near else 0,
            candidate_count=near.candidate_count if near else 0,
            seconds=time.perf_counter() - started + (near.seconds if near else 0.0),
            band_candidate_count=len(sample.agreeing),
            verified_count=overlaps,
        )
        return SampleResult(
            key=sample.document.key,
            fingerprint=self._neighbours.hexadecimal(near) if self._neighbours and near else "",
            matches=tuple(verified),
            explanation=explanation,
            too_short=sample.feature_count < self._least,
            decoding=sample.document.decoding,
        )

    def _found(self, sample: ReadSample, known: KnownDocuments) -> list[Match]:
        """Return what the channels found, by distance, then order of ingest.

        What was found by its sentences alone comes behind the others, the most similar first.
        """
        distances: dict[int, int | None] = {}
        found_by: dict[int, list[str]] = {}
        near = sample.near
        if near is not None and "simhash" in self.channels:
            for value, distance in near.found:
                for number in known.holders.get(value, ()):
                    distances[number] = distance
                    found_by[number] = ["simhash"]
        for number in sample.agreeing:
            # What has no fingerprint yet is not part of what stands.
            if number not in distances and near is not None and number in known.values:
                distances[number] = (known.values[number] ^ near.value).bit_count()
            elif near is None and number in known.keys:
                distances[number] = None
            if number in distances:
                found_by.setdefault(number, []).append("minhash")
        alike = {n: found for n, found in sample.sentences.items() if n in known.keys}
        for number in alike:
            if number not in distances:
                has_both = near is not None and number in known.values
                distances[number] = (
                    (known.values[number] ^ near.value).bit_count() if near and has_both else None
                )
            found_by.setdefault(number, []).append(SENTENCES)
        matches = [
            Match(
                key=known.keys[number].decode("utf-8", "surrogateescape"),
                distance=distance,
                document_id=number,
                channels=tuple(found_by[number]),
                **_passage(alike.get(number)),
            )
            for number, distance in distances.items()
        ]
        return sorted(matches, key=_order)

    def _filtered(self, matches: list[Match], own_key: str) -> list[Match]:
        """Return the matches that pass the filters that ask nothing of the texts."""
        options = self._options
        if options.exclude_self:
            matches = [match for match in matches if match.key != own_key]
        if options.collection is not None or options.since is not None or options.where:
            passing = documents.filtered(
                self._snapshot.connection,
                [match.document_id for match in matches],
                collection=options.collection,
                since=options.since,
                where=options.where,
            )
            matches = [match for match in matches if match.document_id in passing]
        return matches

    def _judged(
        self, sample: ReadSample, matches: list[Match], sizes: Mapping[int, tuple[bytes, int]]
    ) -> tuple[list[Match], int]:
        """Return the matches to tell of, verified and cut, and how many were verified."""
        options = self._options
        limit = 1 if options.first else options.limit
        digests = {match.document_id: sizes[match.document_id][0] for match in matches}
        short = {
            number: digest
            for number, digest in digests.items()
            if min(sizes[number][1], sample.feature_count) < self._least
        }
        without_distance = self._neighbours is None
        must_verify = self._options.filters_by_text or without_distance
        if not must_verify:
            # Only what is told of need be verified, and what is too short to be told of unseen.
            kept: list[Match] = []
            seen = 0
            while seen < len(matches) and (limit is None or len(kept) < limit):
                part = matches[seen:] if limit is None else matches[seen : seen + limit]
                seen += len(part)
                judged = self._verified(sample, part, digests if options.verify else short)
                kept += [match for match in judged if self._is_told(sample, match, short)]
            return kept[:limit], seen if options.verify else 0
        judged = self._verified(sample, matches, digests)
        told = [match for match in judged if self._is_told(sample, match, short)]
        if without_distance:
            told.sort(key=lambda match: (-_likeness(match), match.document_id))
        return told[:limit], len(matches)

    def _verified(
        self, sample: ReadSample, matches: Sequence[Match], digests: Mapping[int, bytes]
    ) -> list[Match]:
        """Return the matches, those of which a digest is given with their overlap."""
        wanted = {
            m.document_id: digests[m.document_id] for m in matches if m.document_id in digests
        }
        overlaps = (
            self._verifier.overlaps(sample.shingles, sample.sketch, wanted, sample.agreeing)
            if wanted
            else {}
        )
        # The same text is the same though it have no shingle.
        overlaps |= {
            number: replace(
                overlaps[number], resemblance=1.0, containment=1.0, containment_reverse=1.0
            )
            for number, digest in wanted.items()
            if digest == sample.digest and number in overlaps
        }
        judged = [_with(match, overlaps.get(match.document_id)) for match in matches]
        if not self._options.asks_likeness:
            return judged
        alike = self._verifier.likenesses(sample.document, [m.document_id for m in matches])
        return [
            replace(match, likeness=found[0], cosine=found[1])
            if (found := alike.get(match.document_id))
            else match
            for match in judged
        ]

    def _is_told(self, sample: ReadSample, match: Match, short: Mapping[int, bytes]) -> bool:
        options = self._options
        alike = match.passage_similarity is not None
        if match.document_id in short and not (
            alike
            or short[match.document_id] == sample.digest
            or 1.0 in (match.containment, match.containment_reverse)
        ):
            return False
        # What cannot be verified passes no threshold.
        thresholds = (
            (options.min_resemblance, match.resemblance),
            (options.min_containment, match.containment),
            (options.min_likeness, match.likeness),
            (options.min_cosine, match.cosine),
        )
        return all((least or 0.0) <= (value or 0.0) for least, value in thresholds)


def _passage(found: FoundSentence | None) -> dict[str, Any]:
    """Return the fields of a match that tell of a sentence."""
    if found is None:
        return {}
    return {
        "passage_start": found.start,
        "passage_end": found.end,
        "passage_similarity": found.similarity,
    }


def _order(match: Match) -> tuple[bool, float, int]:
    if match.channels == (SENTENCES,):
        return True, -_likeness(match), match.document_id
    return False, match.distance or 0, match.document_id


def _likeness(match: Match) -> float:
    """Return how like a sample a document is, or the one of its sentences that was found."""
    return max(match.resemblance or 0.0, match.passage_similarity or 0.0)


def _with(match: Match, found: Overlap | None) -> Match:
    if found is None:
        return match
    return replace(
        match,
        resemblance=found.resemblance,
        containment=found.containment,
        containment_reverse=found.containment_reverse,
        basis=found.basis,
    )


@dataclass(slots=True)
class ReadSample:
    """A sample with what is made of it: shingles and sketch only when they are asked for.

    Attributes:
        document: The sample.
        digest: That of its text.
        feature_count: Features that occur in its text.
        sketching: How its shingles and sketch are made.
        shingle_count: Its shingles, where it was sketched.
        near: What channel 1 found.
        agreeing: What channel 2 found, by the documents.
        sentences: Documents with a sentence of the sample, or one much like it.
    """

    document: Document
    digest: bytes
    feature_count: int
    sketching: Sketching
    shingle_count: int = 0
    near: SimhashNeighbours | None = None
    agreeing: Mapping[int, StoredSketch] = field(default_factory=dict)
    sentences: Mapping[int, FoundSentence] = field(default_factory=dict)
    known_sketch: NDArray[np.uint16] | None = None
    known_shingles: NDArray[np.uint64] | None = None

    @property
    def shingles(self) -> NDArray[np.uint64]:
        """The hashes of its shingles, ascending."""
        if self.known_shingles is None:
            self.known_shingles = self.sketching.sets([self.document.text]).row(0)
        return self.known_shingles

    @property
    def sketch(self) -> NDArray[np.uint16]:
        """Its sketch; zeros where it has no shingles."""
        if self.known_sketch is None:
            self.known_sketch = make_sketches(from_rows([self.shingles]))[0]
        return self.known_sketch


def read_samples(
    state: State,
    samples: Sequence[Document],
    neighbours: SimhashChannel | None,
    *,
    sketched: bool,
) -> tuple[list[ReadSample], NDArray[np.uint64] | None]:
    """Return what is made of samples, and their fingerprints; None: they need none.

    Args:
        state: What stands in the snapshot in which they are looked up.
        samples: The samples.
        neighbours: Knows the standing generation; None: fingerprints are not looked up.
        sketched: Make their sketches.
    """
    scheme, sketching = state.scheme, state.channels.sketching
    texts = [sample.text for sample in samples]
    metadata = [sample.metadata for sample in samples]
    encoded = [encode(text) for text in texts]
    scanned = scanned_words(scheme, texts, encoded)
    words = None
    if neighbours is not None and not scheme.depends_on_corpus:
        words, feature_counts = scheme.fingerprinted(texts, metadata, scanned)
    else:
        counts = scheme.count(texts, metadata) if scanned is None else scheme.count_words(scanned)
        feature_counts = scheme.token_counts(counts)
        if neighbours is not None:
            words = neighbours.fingerprints(counts)
    made = [
        ReadSample(
            sample,
            text_digest(data),
            feature_count,
            sketching,
        )
        for sample, data, feature_count in zip(
            samples, encoded, feature_counts.tolist(), strict=True
        )
    ]
    if sketched:
        sizes, rows = sketching.sketched(texts, scanned)
        for one, size, row in zip(made, sizes.tolist(), rows, strict=True):
            one.shingle_count, one.known_sketch = size, row
    return made, words


class KnownDocuments:
    """Documents that were found by fingerprints or sketches.

    Args:
        connection: A snapshot.
        linked: Which documents have which fingerprints in it; None: it has none.
        near: What was found by fingerprints.
        agreeing: Documents that were found by sketches.

    Attributes:
        holders: Documents with each fingerprint that was found.
        values: Fingerprint of each document that has one; of a store without fingerprints, none.
        keys: Key of each.
        sizes: Digest and number of features of each.
    """

    def __init__(
        self,
        connection: Connection,
        linked: Linked | None,
        near: Sequence[SimhashNeighbours],
        agreeing: Collection[int],
    ) -> None:
        self.holders: dict[int, list[int]] = {}
        self.values: dict[int, int] = {}
        if linked is not None:
            wanted = {value for one in near for value, _ in one.found}
            self.values = {number: value for value, number in linked.holders_of(sorted(wanted))}
            self.values |= linked.values_of(sorted(set(agreeing) - self.values.keys()))
        facts = documents.facts_of(connection, sorted({*agreeing, *self.values}))
        if not self.values.keys() <= facts.keys():
            raise corrupt(connection, "fingerprints are of documents that are not there")
        for number in facts.keys() & self.values.keys():
            self.holders.setdefault(self.values[number], []).append(number)
        self.keys = {number: key for number, (key, _, _) in facts.items()}
        self.sizes = {number: (digest, count) for number, (_, digest, count) in facts.items()}
