"""From samples to matches: both channels, filters, verification, order."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHANNELS, Sketching
from simstore.fingerprint.features import FeatureCounts
from simstore.fingerprint.minhash import sketches as make_sketches
from simstore.fingerprint.shingle_sets import from_rows
from simstore.model import Document, Match, QueryOptions, SampleExplanation, SampleResult
from simstore.search.resemblance import Overlap
from simstore.services.arriving.prepare import DIGEST_BYTES
from simstore.services.finding.neighbours import Neighbours, NeighbourSearch
from simstore.services.finding.sketch_search import SketchSearch
from simstore.services.finding.verify import Verifier
from simstore.services.opened import OpenStore, State, missing_channel
from simstore.storage import documents
from simstore.storage.engine import Connection
from simstore.storage.sketches import StoredSketch
from simstore.text.decoding import encode


@dataclass(slots=True)
class _Sample:
    """A sample with what is made of it: shingles and sketch only when they are asked for."""

    document: Document
    digest: bytes
    feature_count: int
    sketching: Sketching
    near: Neighbours | None = None
    agreeing: Mapping[int, StoredSketch] = field(default_factory=dict)
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


class Matcher:
    """Finds the matches of samples in one snapshot of a store.

    Raises:
        InvalidParameter: The store has not a channel that is asked for.
    """

    def __init__(
        self, opened: OpenStore, connection: Connection, state: State, options: QueryOptions
    ) -> None:
        self._connection = connection
        self._state = state
        least = options.min_features
        if least is None:
            least = state.scheme.least_features
        self._least = least
        self._options = options
        check_tellable(state, options)
        chosen = chosen_channels(state, options.channels)
        self.channels = chosen
        fingerprinted = state.channels.simhash
        self._neighbours = (
            NeighbourSearch(opened, connection, state, options) if fingerprinted else None
        )
        self._sketches = SketchSearch(opened, connection, state) if "minhash" in chosen else None
        self._verifier = Verifier(opened, connection, state)

    def answer(self, samples: Sequence[Document]) -> list[SampleResult]:
        """Return the matches of each sample, by distance, then order of ingest."""
        if not samples:
            return []
        texts = [sample.text for sample in samples]
        counts = self._state.scheme.count(texts, [sample.metadata for sample in samples])
        made = self._samples(samples, counts)
        if self._neighbours is not None:
            first = self._options.first
            for sample, near in zip(made, self._near(counts, first=first), strict=True):
                sample.near = near
        if self._sketches is not None:
            sizes, sketched = self._state.channels.sketching.sketched(texts)
            for sample, sketch in zip(made, sketched, strict=True):
                sample.known_sketch = sketch
            judged = [sample for sample, size in zip(made, sizes.tolist(), strict=True) if size]
            found = self._sketches.find(sketched[sizes > 0])
            for sample, agreeing in zip(judged, found, strict=True):
                sample.agreeing = agreeing
        results = []
        for row, sample in enumerate(made):
            result = self._result(sample)
            if self._options.first and not result.matches and sample.near is not None:
                # What was found first may have been filtered out.
                sample.near = self._near(counts.rows(row, row + 1), first=False)[0]
                result = self._result(sample)
            results.append(result)
        return results

    def _near(self, counts: FeatureCounts, *, first: bool) -> list[Neighbours]:
        return self._neighbours.find(counts, first=first) if self._neighbours else []

    def _samples(self, samples: Sequence[Document], counts: FeatureCounts) -> list[_Sample]:
        return [
            _Sample(sample, _digest(sample.text), feature_count, self._state.channels.sketching)
            for sample, feature_count in zip(
                samples, self._state.scheme.token_counts(counts).tolist(), strict=True
            )
        ]

    def _result(self, sample: _Sample) -> SampleResult:
        started = time.perf_counter()
        near = sample.near
        matches = self._filtered(self._found(sample), sample.document.key)
        verified, overlaps = self._judged(sample, matches)
        explanation = SampleExplanation(
            near.method if near else "none",
            near.thresholds if near else (),
            near.probe_count if near else 0,
            near.candidate_count if near else 0,
            time.perf_counter() - started + (near.seconds if near else 0.0),
            len(sample.agreeing),
            overlaps,
        )
        return SampleResult(
            sample.document.key,
            self._neighbours.hexadecimal(near) if self._neighbours and near else "",
            tuple(verified),
            explanation,
            sample.feature_count < self._least,
        )

    def _found(self, sample: _Sample) -> list[Match]:
        """Return what the channels found, by distance, then order of ingest."""
        near = sample.near
        rows: dict[int, tuple[bytes, int | None]] = {}
        found_by: dict[int, list[str]] = {}
        if near is not None and self._neighbours is not None and "simhash" in self.channels:
            for number, row in self._neighbours.documents_near(near).items():
                rows[number] = row
                found_by[number] = ["simhash"]
        others = [number for number in sample.agreeing if number not in rows]
        distances: dict[int, int] = {}
        if near is not None and self._neighbours is not None:
            distances = self._neighbours.distances_to(near, others)
            # What has no fingerprint yet is not part of what stands.
            others = [number for number in others if number in distances]
        for number, key in documents.keys_of(self._connection, others).items():
            rows[number] = key, distances.get(number)
        for number in sample.agreeing:
            if number in rows:
                found_by.setdefault(number, []).append("minhash")
        matches = [
            Match(
                key.decode("utf-8", "surrogateescape"),
                distance,
                number,
                tuple(found_by[number]),
            )
            for number, (key, distance) in rows.items()
        ]
        return sorted(matches, key=lambda match: (match.distance or 0, match.document_id))

    def _filtered(self, matches: list[Match], own_key: str) -> list[Match]:
        """Return the matches that pass the filters that ask nothing of the texts."""
        options = self._options
        if options.exclude_self:
            matches = [match for match in matches if match.key != own_key]
        if options.collection is not None or options.since is not None or options.where:
            passing = documents.filtered(
                self._connection,
                [match.document_id for match in matches],
                collection=options.collection,
                since=options.since,
                where=options.where,
            )
            matches = [match for match in matches if match.document_id in passing]
        return matches

    def _judged(self, sample: _Sample, matches: list[Match]) -> tuple[list[Match], int]:
        """Return the matches to tell of, verified and cut, and how many were verified."""
        options = self._options
        limit = 1 if options.first else options.limit
        sizes = documents.sizes_of(self._connection, [match.document_id for match in matches])
        digests = {number: digest for number, (digest, _) in sizes.items()}
        short = {
            number: digests[number]
            for number, (_, features) in sizes.items()
            if min(features, sample.feature_count) < self._least
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
            told.sort(key=lambda match: (-(match.resemblance or 0.0), match.document_id))
        return told[:limit], len(matches)

    def _verified(
        self, sample: _Sample, matches: Sequence[Match], digests: Mapping[int, bytes]
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

    def _is_told(self, sample: _Sample, match: Match, short: Mapping[int, bytes]) -> bool:
        options = self._options
        if match.document_id in short and not (
            short[match.document_id] == sample.digest
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


def check_tellable(state: State, options: QueryOptions) -> None:
    """Raise InvalidParameter where a threshold is by something that the store cannot tell."""
    kept = state.settings.text_kept
    if options.asks_likeness and not (kept and state.records_vocabulary):
        raise InvalidParameter(
            "likeness needs the texts and the vocabulary of a store; this one was made with "
            + ("--no-vocabulary" if kept else "--no-text")
        )
    if options.filters_by_text and not kept and not state.channels.minhash:
        raise InvalidParameter(
            "resemblance and containment need the texts or the sketches of a store; this one was "
            "made with --no-text --channels simhash"
        )


def chosen_channels(state: State, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the channels to look by, in their order.

    Raises:
        InvalidParameter: There is no such channel, or this store has it not.
    """
    for name in wanted:
        if name not in CHANNELS:
            raise InvalidParameter(f"channel {name!r}: choose simhash or minhash")
        if name not in state.channels.names:
            raise missing_channel(state, name)
    return tuple(name for name in state.channels.names if not wanted or name in wanted)


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


def _digest(text: str) -> bytes:
    return hashlib.blake2b(encode(text), digest_size=DIGEST_BYTES).digest()
