"""Sentence search: find documents that contain a sentence similar to a short query text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simstore.fingerprint.sentence_terms import LEAST_CHARACTERS, LEAST_WORDS
from simstore.search.symbols import Alphabet
from simstore.services.channels.samples import ReadSample
from simstore.services.channels.store_part import StorePart
from simstore.services.check.check_index import StoredPassages
from simstore.services.check.sentence_lookup import (
    LEAST_SIMILARITY,
    MOST_POSTINGS,
    AskedSentences,
    like_sentences,
    unit_weights,
)
from simstore.services.open_store.open_store import Snapshot
from simstore.text.located import located_units

# Samples of more units are documents, which share sentences with many others.
MOST_UNITS = 64
# A term that so few stored sentences have is looked at by itself: a short sentence has two.
_ALONE = 40
# A text of so many characters has more units than that, or is of no language.
_MOST_CHARACTERS = 1_024


@dataclass(frozen=True, slots=True)
class FoundSentence:
    """The sentence of a document that is most similar to one of the sample.

    Attributes:
        start: Its first character in the document's text.
        end: The character behind its last.
        similarity: 2 M / (a + b): of a and b units of the two sentences, M are the same in order.
    """

    start: int
    end: int
    similarity: float


class SentencePart(StorePart):
    """The store part of ``sentences``: the passage index keeps them, where there is one."""

    # The passage index covers what it covers, whatever generation stands.
    waits_for_generation = False

    def search(self, snapshot: Snapshot) -> SentenceChannel:
        """Return a search by sentences."""
        return SentenceChannel(snapshot)


class SentenceChannel:
    """Finds the documents that have a sentence of a short sample, or a similar one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._index = StoredPassages(snapshot)

    def candidates(self, samples: Sequence[ReadSample]) -> list[Mapping[int, FoundSentence]]:
        """Return the documents that each sample finds, and the sentence of each."""
        return [self.find(sample.document.text) for sample in samples]

    def find(self, text: str) -> dict[int, FoundSentence]:
        """Return the documents and the sentence of each; none where the sample is too long."""
        if len(text) > _MOST_CHARACTERS:
            return {}
        units = located_units(text, self._index.normalization)
        if len(units) > MOST_UNITS:
            return {}
        alphabet = Alphabet(units.hashes)
        asked = AskedSentences(
            units=units,
            alphabet=alphabet,
            symbols=alphabet.symbols(units.hashes),
            spans=self._index.sentences_of(text),
            weights=unit_weights(units, LEAST_WORDS, LEAST_CHARACTERS),
            least=LEAST_SIMILARITY,
            rare=MOST_POSTINGS,
            allowed=lambda numbers: np.ones(len(numbers), bool),
            on_step=_go_on,
            alone=_ALONE,
        )
        best: dict[int, FoundSentence] = {}
        for one in like_sentences(self._index, asked):
            start = one.source.offset
            found = FoundSentence(start, start + len(one.source.text), one.similarity)
            number = one.source.document_id
            # Of sentences that are as much alike, the first in the document.
            if number not in best or _rank(found) < _rank(best[number]):
                best[number] = found
        return best


def _rank(found: FoundSentence) -> tuple[float, int]:
    return -found.similarity, found.start


def _go_on() -> None:
    """Let the work go on: it is short."""
