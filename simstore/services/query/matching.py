"""Match query texts with stored documents: merge all search methods, filter, verify and sort."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simstore.errors import InvalidParameter
from simstore.fingerprint.channels import CHARACTERS, WORD_SKETCHES
from simstore.model import Document, Match, QueryOptions, SampleExplanation, SampleResult
from simstore.model.channels import channel, check_asked_resemblance
from simstore.search.resemblance import Overlap
from simstore.services.channels.fingerprint_search import (
    FingerprintSearch,
    Linked,
    SimhashNeighbours,
)
from simstore.services.channels.samples import ReadSample, read_samples
from simstore.services.channels.store_part import store_part
from simstore.services.open_store.open_store import Snapshot
from simstore.services.open_store.state import SENTENCES, State, missing_channel
from simstore.services.query.verify import Verifier
from simstore.storage import documents
from simstore.storage.damage import corrupt
from simstore.storage.engine import Connection
from simstore.text.decoding import exact_text

if TYPE_CHECKING:
    from simstore.services.query.sentence_channel import FoundSentence

# A title that differs from a sample in more than a word is told if its characters are as like.
LEAST_TITLE = 0.7
# A title that contains another is told from this resemblance on: it is twice as long at most.
LEAST_CONTAINED_TITLE = 0.5


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
        self._neighbours = FingerprintSearch(snapshot, options) if fingerprinted else None
        searches = ((name, store_part(name).search(snapshot)) for name in chosen)
        self._searches = {name: search for name, search in searches if search is not None}
        self._verifier = Verifier(snapshot)

    def answer(self, samples: Sequence[Document]) -> list[SampleResult]:
        """Return the matches of each sample, by distance, then order of ingest."""
        if not samples:
            return []
        made, words = read_samples(
            self._snapshot, samples, self._neighbours, channels=self.channels
        )
        if self._neighbours is not None and words is not None:
            first = self._options.first
            for sample, near in zip(made, self._neighbours.find(words, first=first), strict=True):
                sample.near = near
        for name, search in self._searches.items():
            for sample, found in zip(made, search.candidates(made), strict=True):
                sample.found[name] = found
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
            {number for one in made for number in one.candidates},
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
        look_up = near.result if near else None
        verified, overlaps = self._judged(sample, matches, known.sizes)
        explanation = SampleExplanation(
            method=look_up.method if look_up else "none",
            thresholds=look_up.thresholds if look_up else (),
            probe_count=look_up.probe_count if look_up else 0,
            candidate_count=look_up.candidate_count if look_up else 0,
            seconds=time.perf_counter() - started + (near.seconds if near else 0.0),
            band_candidate_count=sum(
                len(sample.found.get(recipe.name, ()))
                for recipe in self._snapshot.channels.sketched
            ),
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
        """Return the candidates of all channels, by distance, then order of ingest.

        What was found by its sentences alone comes behind the others, the most similar first.
        """
        distances: dict[int, int | None] = {}
        found_by: dict[int, list[str]] = {}
        near = sample.near
        if near is not None and "simhash" in self.channels:
            for value, distance in near.result.found:
                for number in known.holders.get(value, ()):
                    distances[number] = distance
                    found_by[number] = ["simhash"]
        for name, found in sample.found.items():
            waits = near is not None and store_part(name).waits_for_generation
            for number in found:
                if number not in distances:
                    if near is not None and number in known.values:
                        distances[number] = (known.values[number] ^ near.value).bit_count()
                    elif number in known.keys and not waits:
                        distances[number] = None
                if number in distances:
                    found_by.setdefault(number, []).append(name)
        alike = sample.found.get(SENTENCES, {})
        spelt = sample.found.get(CHARACTERS, {})
        matches = [
            Match(
                key=exact_text(known.keys[number]),
                distance=distance,
                document_id=number,
                channels=tuple(found_by[number]),
                character_resemblance=spelt[number].resemblance if number in spelt else None,
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
        if options.chosen or options.since is not None or options.where:
            passing = documents.filtered(
                self._snapshot.connection,
                [match.document_id for match in matches],
                wanted=options,
                since=options.first_seen_from,
                where=options.conditions,
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
        longest = 0 if self._options.filters_by_text else sample.title_features
        titles = {
            number
            for number in digests
            if 0 < max(sizes[number][1], sample.feature_count) <= longest
        }
        short = {
            number: digest
            for number, digest in digests.items()
            if min(sizes[number][1], sample.feature_count) < self._least or number in titles
        }

        def is_told(match: Match) -> bool:
            number = match.document_id
            if number in short and not (
                match.passage_similarity is not None
                or self._is_near_title(sample, match)
                or short[number] == sample.digest
                or _contains(match, LEAST_CONTAINED_TITLE if number in titles else 0.0)
            ):
                return False
            return self._reaches_thresholds(match)

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
                kept += [match for match in judged if is_told(match)]
            return kept[:limit], seen if options.verify else 0
        judged = self._verified(sample, matches, digests)
        told = [match for match in judged if is_told(match)]
        if without_distance:
            told.sort(key=lambda match: (-_similarity(match), match.document_id))
        return told[:limit], len(matches)

    def _verified(
        self, sample: ReadSample, matches: Sequence[Match], digests: Mapping[int, bytes]
    ) -> list[Match]:
        """Return the matches, those of which a digest is given with their overlap."""
        wanted = {
            m.document_id: digests[m.document_id] for m in matches if m.document_id in digests
        }
        overlaps = (
            self._verifier.overlaps(
                sample.shingles, sample.sketch, wanted, sample.found.get(WORD_SKETCHES, {})
            )
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
        return [_with(match, overlaps.get(match.document_id)) for match in matches]

    def _reaches_thresholds(self, match: Match) -> bool:
        options = self._options
        # What cannot be verified passes no threshold.
        thresholds = (
            (options.min_resemblance, match.resemblance),
            (options.min_containment, match.containment),
            (options.min_character_resemblance, match.character_resemblance),
        )
        return all((least or 0.0) <= (value or 0.0) for least, value in thresholds)

    def _is_near_title(self, sample: ReadSample, match: Match) -> bool:
        """Return whether a short match is told for its characters: by one rule, or as asked."""
        spelt = sample.found.get(CHARACTERS, {}).get(match.document_id)
        if spelt is None:
            return False
        asked = self._options.min_character_resemblance is not None
        return asked or spelt.is_one_word_apart or spelt.resemblance >= LEAST_TITLE


def _passage(found: FoundSentence | None) -> dict[str, Any]:
    """Return the fields of a match that tell of a sentence."""
    if found is None:
        return {}
    return {
        "passage_start": found.start,
        "passage_end": found.end,
        "passage_similarity": found.similarity,
    }


def _contains(match: Match, least: float) -> bool:
    """Return whether one text contains the other, at this resemblance at least."""
    is_whole = 1.0 in (match.containment, match.containment_reverse)
    return is_whole and (match.resemblance or 0.0) >= least


def _order(match: Match) -> tuple[bool, float, int]:
    if match.channels == (SENTENCES,):
        return True, -_similarity(match), match.document_id
    return False, match.distance or 0, match.document_id


def _similarity(match: Match) -> float:
    """Return the resemblance of a document, or the similarity of the sentence that was found."""
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
            wanted = {value for one in near for value, _ in one.result.found}
            self.values = {number: value for value, number in linked.holders_of(sorted(wanted))}
            self.values |= linked.values_of(sorted(set(agreeing) - self.values.keys()))
        facts = documents.facts_of(connection, sorted({*agreeing, *self.values}))
        if not self.values.keys() <= facts.keys():
            raise corrupt(connection, "fingerprints are of documents that are not there")
        for number in facts.keys() & self.values.keys():
            self.holders.setdefault(self.values[number], []).append(number)
        self.keys = {number: key for number, (key, _, _) in facts.items()}
        self.sizes = {number: (digest, count) for number, (_, digest, count) in facts.items()}


def check_tellable(state: State, options: QueryOptions) -> None:
    """Raise InvalidParameter where a threshold needs a measure that the store cannot compute."""
    kept = state.settings.text_kept
    if options.filters_by_text and not kept and not state.channels.has_word_sketches:
        raise InvalidParameter(
            "resemblance and containment need the texts or the sketches of a store; this one was "
            "made with --no-text --channels simhash"
        )


def chosen_channels(state: State, options: QueryOptions) -> tuple[str, ...]:
    """Return the channels to search, in their order.

    Without a choice, a store of the course tool's scheme answers as the course tool does: by
    fingerprints alone, unless a threshold asks for what resembles the sample.

    Raises:
        InvalidParameter: There is no such channel, or this store has it not.
    """
    wanted = options.channels
    names = state.searched_channels
    check_asked_resemblance(wanted or names, options.min_resemblance)
    asked = (CHARACTERS,) if options.min_character_resemblance is not None else ()
    for name in (*wanted, *asked):
        if channel(name).name not in names:
            raise missing_channel(state, name)
    if asked and wanted and CHARACTERS not in wanted:
        raise InvalidParameter("a least character resemblance is asked of the channel characters")
    if not wanted and not options.filters_by_text and not asked:
        wanted = tuple(set(state.scheme.asked_channels) & set(state.channels.names))
    return tuple(name for name in names if not wanted or name in wanted)
