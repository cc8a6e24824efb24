"""Search by sketches of runs of characters, and titles by their words; verify by the texts.

What agrees in a band is a candidate. The sketches tell about how much it resembles the sample; what
may be enough is compared by its text where the store keeps texts. A title is found by its forms
(:mod:`simstore.fingerprint.titles`) too, though a word of it is another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.characters import estimated_resemblances
from simstore.fingerprint.sketching import unpack_sketches
from simstore.fingerprint.titles import (
    asked_forms,
    is_one_word_apart,
    most_features,
    pack_forms,
    stored_forms,
    title_words,
    unpack_forms,
)
from simstore.index.bands import form_keys
from simstore.search.resemblance import overlap
from simstore.services.channels.samples import ReadSample
from simstore.services.channels.sketch_part import SketchPart
from simstore.services.channels.sketch_search import SketchSearch
from simstore.services.features import feature_counts
from simstore.services.open_store.open_store import Snapshot
from simstore.storage.rows import chunks
from simstore.storage.sketches import StoredSketch

# With a smaller share of their runs in common, texts may just be on one subject.
LEAST_RESEMBLANCE = 0.2
# An estimate is so far from the truth once in 30,000 times, at that share.
LEAST_ESTIMATE = 0.1
_BATCH_DOCUMENTS = 256


@dataclass(frozen=True, slots=True)
class Spelt:
    """Likeness of a document to a sample by their characters.

    Attributes:
        resemblance: Share of all their runs of characters that they have in common.
        is_one_word_apart: They are titles that differ in one word at most.
    """

    resemblance: float
    is_one_word_apart: bool = False


class CharacterPart(SketchPart):
    """The store part of the channel ``characters``: sketches, forms of titles, and their search."""

    def search(self, snapshot: Snapshot) -> CharacterSearch:
        """Return a search that finds what resembles, not all that agrees in a band."""
        return CharacterSearch(snapshot, self.name)

    def forms(self, snapshot: Snapshot, texts: Mapping[int, str]) -> Mapping[int, bytes]:
        """Return the packed forms of the titles among texts."""
        normalization = snapshot.scheme.normalization
        found = {n: stored_forms(title_words(text, normalization)) for n, text in texts.items()}
        return {number: pack_forms(forms) for number, forms in found.items() if forms}


class CharacterSearch:
    """A search by runs of characters, and by forms of titles, in one snapshot of a store.

    Args:
        snapshot: The store in a transaction.
        name: The channel.
    """

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._snapshot = snapshot
        self._name = name
        self._sketching = snapshot.channels.recipe(name).sketching
        self._bands = SketchSearch(snapshot, name)

    def candidates(self, samples: Sequence[ReadSample]) -> list[Mapping[int, Any]]:
        """Return the documents that resemble each sample, each with what was found (`Spelt`).

        Exact where the store keeps texts, else an estimate; 0.2 and more, but for titles that
        differ in one word.
        """
        normalization = self._snapshot.scheme.normalization
        words = [title_words(sample.document.text, normalization) for sample in samples]
        for sample, own in zip(samples, words, strict=True):
            if own:
                # A word with a hyphen has two features.
                sample.title_features = max(most_features(own), sample.feature_count + 1)
        named = self._named(words)
        found = [
            self._likely(sample, {**stored, **near}, near)
            for sample, stored, near in zip(
                samples, self._bands.candidates(samples), named, strict=True
            )
        ]
        if not self._snapshot.settings.text_kept:
            return [
                _enough({n: Spelt(share, n in near) for n, share in estimated.items()})
                for estimated, near in zip(found, named, strict=True)
            ]
        asked = [place for place, estimated in enumerate(found) if estimated]
        sets = self._sketching.sets([samples[place].document.text for place in asked])
        result: list[Mapping[int, Any]] = [{}] * len(samples)
        for row, place in enumerate(asked):
            exact = self._exact(sets.row(row), words[place], list(found[place]))
            result[place] = _enough(exact)
        return result

    def _named(self, words: Sequence[tuple[str, ...]]) -> list[dict[int, StoredSketch]]:
        """Return the sketches of the documents that have a form of each title."""
        forms = [asked_forms(one) for one in words]
        found: list[dict[int, StoredSketch]] = [{} for _ in words]
        asked = [place for place, own in enumerate(forms) if own]
        if not asked:
            return found
        held = self._bands.holders([form_keys(sorted(forms[place])) for place in asked])
        for place, some in zip(asked, held, strict=True):
            for row in some:
                try:
                    if row.forms and not forms[place].isdisjoint(unpack_forms(row.forms)):
                        found[place][row.document_id] = row
                except ValueError as error:
                    raise self._snapshot.corrupt(error) from error
        return found

    def _likely(
        self,
        sample: ReadSample,
        stored: Mapping[int, StoredSketch],
        near: Mapping[int, StoredSketch],
    ) -> dict[int, float]:
        """Return the candidates whose sketches or forms may be like enough, with the estimate."""
        if not stored:
            return {}
        try:
            many = unpack_sketches([row.packed for row in stored.values()], self._sketching)
        except ValueError as error:
            raise self._snapshot.corrupt(str(error)) from error
        estimates = estimated_resemblances(many, sample.sketches[self._name])
        return {
            number: estimate
            for number, estimate in zip(stored, estimates.tolist(), strict=True)
            if estimate >= LEAST_ESTIMATE or number in near
        }

    def _exact(
        self, own: NDArray[np.uint64], words: Sequence[str], numbers: Sequence[int]
    ) -> dict[int, Spelt]:
        """Return how like a sample documents are.

        Args:
            own: The sample's runs of characters.
            words: Its words, where it is a title.
            numbers: The documents.
        """
        normalization = self._snapshot.scheme.normalization
        found: dict[int, Spelt] = {}
        for part in chunks(numbers, _BATCH_DOCUMENTS):
            texts = feature_counts.stored_texts(self._snapshot, part)
            sets = self._sketching.sets(texts.values())
            for row, (number, text) in enumerate(texts.items()):
                others = title_words(text, normalization) if words else ()
                found[number] = Spelt(
                    overlap(own, sets.row(row)).resemblance,
                    bool(others) and is_one_word_apart(words, others),
                )
        return found


def _enough(found: Mapping[int, Spelt]) -> dict[int, Spelt]:
    return {
        number: spelt
        for number, spelt in found.items()
        if spelt.is_one_word_apart or spelt.resemblance >= LEAST_RESEMBLANCE
    }
