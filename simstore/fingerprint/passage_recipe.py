"""Compute a text's entries in a passage index: spans, SimHash fingerprints, chosen n-grams.

The settings are a contract, like a scheme: an index stores them with a digest of the results for
known texts, and is refused where the digest differs. A passage has a fingerprint of 64 bits, which
is looked up by four segments.

References:
    Charikar: Similarity estimation techniques from rounding algorithms, STOC 2002, section 3;
    Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007, section 3 (of
    fingerprints within 3 bits, one of four segments is equal).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import xxhash
from numpy.typing import NDArray

from simstore.errors import InvalidParameter, SchemeMismatch
from simstore.fingerprint.anchor_neighbours import neighbours
from simstore.fingerprint.scheme import KNOWN_TEXTS
from simstore.fingerprint.sentence_terms import chosen_terms
from simstore.fingerprint.shingle_sets import runs
from simstore.fingerprint.winnowing import DEFAULT_WINNOWING, HASH_BITS, Winnowing, anchors
from simstore.text.disguises import KNOWN_DISGUISES
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.passages import DEFAULT_WINDOW, sentences, windows
from simstore.text.tokens import GAMMA, mix

RADIUS = 3
SEGMENTS = 4
_SEGMENT_BITS = 16
_GRAM = 2
_LOST = np.uint64(64 - HASH_BITS)


def passage_fingerprints(
    units: LocatedUnits, spans: NDArray[np.integer[Any]]
) -> NDArray[np.uint64]:
    """Return the SimHash of each passage: of its pairs of consecutive units, one vote each.

    A passage of one unit has the hash of that unit; one of none has 0.

    Args:
        units: The units of a text.
        spans: Its passages, shape (n, 2).

    Returns:
        Shape (n,).
    """
    found = np.zeros(len(spans), np.uint64)
    firsts = np.searchsorted(units.starts, spans[:, 0])
    ends = np.searchsorted(units.starts, spans[:, 1])
    single = ends - firsts == 1
    found[single] = units.hashes[firsts[single]]
    several = np.flatnonzero(ends - firsts >= _GRAM)
    if not len(several):
        return found
    counts = ends[several] - firsts[several] - (_GRAM - 1)
    offsets = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(firsts[several] - offsets, counts)
    hashes = runs(units.hashes, _GRAM)[places]
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    ones = np.add.reduceat(bits, offsets, axis=0, dtype=np.int32)
    # A tie is a 0.
    packed = np.packbits(2 * ones > counts[:, None], axis=1)
    found[several] = np.ascontiguousarray(packed).view(">u8")[:, 0]
    return found


def segment_hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash that stands for each segment of fingerprints, among those of anchors.

    Args:
        words: Fingerprints, shape (n,).

    Returns:
        40 bits each, shape (n, 4).
    """
    shifts = np.arange(SEGMENTS, dtype=np.uint64) * np.uint64(_SEGMENT_BITS)
    values = words[:, None] >> shifts & np.uint64((1 << _SEGMENT_BITS) - 1)
    names = (np.arange(SEGMENTS, dtype=np.uint64) + np.uint64(1)) << np.uint64(_SEGMENT_BITS)
    return mix((values | names) * GAMMA) >> _LOST


Cut = Literal["sentences", "window"]
_VERSION = 1
# Five characters and a word in turns, which have no gram of one kind.
_MIXED_TEXT = "".join(f"{chr(0x4E00 + 97 * n)}{'abcdef'[n % 6] * (n % 5 == 4)}" for n in range(60))
# Texts are joined until they have so many: several take less time together than one by one.
_JOINED_CHARACTERS = 1 << 16
# Longer anchors are given as so long: a gram of words with much between them.
MOST_LENGTH = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A text as stored in a passage index.

    Attributes:
        spans: First code point of each passage, and the one after its last; int32, shape (n, 2).
        hashes: Hash of each anchor, 40 bits, then of each segment of the fingerprints, passage by
            passage, then of each term of the sentences; uint64, shape (postings,).
        starts: The first code point of the anchor, the passage or the sentence; int32.
        lengths: Its code points, at most 65,535; of an anchor what stands beside it instead, where
            the recipe has neighbours; of a term its context (see
            :class:`~.sentence_terms.SentenceTerms`); int32.
        words: Fingerprint of each passage; uint64, shape (n,), or (0,) where there are none.
        term_count: How many of the postings are terms of sentences.
    """

    spans: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    words: NDArray[np.uint64]
    term_count: int = 0


class _Postings(NamedTuple):
    """Some of the postings of joined texts, by place."""

    hashes: NDArray[np.uint64]
    starts: NDArray[Any]
    lengths: NDArray[Any]

    def of(self, chosen: slice) -> _Postings:
        return _Postings(self.hashes[chosen], self.starts[chosen], self.lengths[chosen])


def _moved(spans: Sequence[NDArray[np.int32]], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the spans of texts in the joined text."""
    counts = [len(one) for one in spans]
    return np.concatenate(spans) + np.repeat(offsets, counts)[:, None]


@dataclass(frozen=True, slots=True)
class PassageRecipe:
    """Settings of a passage index: how texts are cut into passages, and which anchors they have.

    Attributes:
        cut: ``sentences``, or ``window``: of about so many characters.
        window: Characters of a window; of no account for sentences.
        winnowing: How long anchors are, and the runs that are certain to be found by them.
        normalization: The form in which units are compared.
        fingerprints: Whether each passage has a fingerprint of 64 bits besides.
        sentences: Whether terms of each sentence are kept, by which it is found again though words
            in it were changed.
        neighbours: Whether an anchor tells what stands around it (see
            :mod:`~.anchor_neighbours`), in place of its length, which only a store without texts
            asks for: by it most documents that have a common anchor need not be read.

    Raises:
        InvalidParameter: Another cut, or a window of less than one character.
    """

    cut: Cut = "sentences"
    window: int = DEFAULT_WINDOW
    winnowing: Winnowing = DEFAULT_WINNOWING
    normalization: Normalization = DEFAULT
    fingerprints: bool = False
    sentences: bool = False
    neighbours: bool = False

    def __post_init__(self) -> None:
        if self.cut not in get_args(Cut):
            raise InvalidParameter(f"passages {self.cut!r}: choose sentences or window")
        if self.window < 1:
            raise InvalidParameter(f"windows of {self.window} characters: at least 1")

    def index(self, text: str) -> IndexedText:
        """Return the passages, anchors and terms that an index keeps of a text."""
        return self.index_many([text])[0]

    def index_many(self, texts: Sequence[str]) -> list[IndexedText]:
        """Return what an index keeps of each of several texts."""
        found: list[IndexedText] = []
        first = size = 0
        for place, text in enumerate(texts):
            size += len(text)
            if size >= _JOINED_CHARACTERS or place + 1 == len(texts):
                found += self._indexed(texts[first : place + 1])
                first, size = place + 1, 0
        return found

    def _indexed(self, texts: Sequence[str]) -> Iterator[IndexedText]:
        """Yield what an index keeps of texts, which are looked at as if they were one."""
        ends = np.cumsum([len(text) for text in texts])
        offsets = ends - [len(text) for text in texts]
        each = [located_units(text, self.normalization) for text in texts]
        units = LocatedUnits.joined(each, offsets)
        chosen = anchors(units, self.winnowing)
        starts = units.starts[chosen.first]
        if self.neighbours:
            lengths = neighbours(units, chosen, self.winnowing)
        else:
            lengths = np.minimum(units.ends[chosen.last] - starts, MOST_LENGTH)
        parts = [_Postings(chosen.hashes, starts, lengths)]
        spans = [self.spans(text) for text in texts]
        words = np.empty(0, np.uint64)
        if self.fingerprints:
            moved = _moved(spans, offsets)
            words = passage_fingerprints(units, moved)
            sizes = np.minimum(moved[:, 1] - moved[:, 0], MOST_LENGTH)
            parts.append(
                _Postings(
                    segment_hashes(words).ravel(),
                    np.repeat(moved[:, 0], SEGMENTS),
                    np.repeat(sizes, SEGMENTS),
                )
            )
        if self.sentences:
            cut = _moved(
                [self.sentence_spans(*one) for one in zip(texts, spans, strict=True)], offsets
            )
            terms = chosen_terms(units, cut, self.normalization)
            parts.append(_Postings(terms.hashes, cut[terms.sentences, 0], terms.contexts))
        bounds = [np.searchsorted(part.starts, [0, *ends]).tolist() for part in parts]
        first_word = 0
        for number, (offset, own) in enumerate(zip(offsets.tolist(), spans, strict=True)):
            mine = [
                part.of(slice(*bound[number : number + 2]))
                for part, bound in zip(parts, bounds, strict=True)
            ]
            hashes, places, around = (np.concatenate(column) for column in zip(*mine, strict=True))
            end_word = first_word + len(own) if self.fingerprints else 0
            yield IndexedText(
                own,
                hashes,
                (places - offset).astype(np.int32),
                around.astype(np.int32),
                words[first_word:end_word],
                len(mine[-1].hashes) if self.sentences else 0,
            )
            first_word = end_word

    def spans(self, text: str) -> NDArray[np.int32]:
        """Return the passages of a text, shape (n, 2)."""
        found = sentences(text) if self.cut == "sentences" else windows(text, self.window)
        return np.array(found, np.int32).reshape(-1, 2)

    def sentence_spans(
        self, text: str, spans: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Return the sentences of a text, shape (n, 2), however it is cut into passages.

        Args:
            text: The text.
            spans: Its passages, where they are known.
        """
        if self.cut == "sentences":
            return self.spans(text) if spans is None else spans
        return np.array(sentences(text), np.int32).reshape(-1, 2)

    def record(self) -> dict[str, Any]:
        """Return the recipe as a store keeps it, JSON values."""
        return {
            "version": _VERSION,
            "cut": self.cut,
            "window": self.window,
            "winnowing": asdict(self.winnowing),
            "normalization": self.normalization.parameters(),
            "fingerprints": self.fingerprints,
            "sentences": self.sentences,
            "neighbours": self.neighbours,
            "known_answer": _known_answer(self),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the recipe that a store keeps.

        Raises:
            SchemeMismatch: This installation makes other anchors.
            MissingExtra: Chinese scripts are folded, and OpenCC is not installed.
        """
        recipe = cls(
            record["cut"],
            record["window"],
            Winnowing(**record["winnowing"]),
            Normalization.from_parameters(record["normalization"]),
            record["fingerprints"],
            record["sentences"],
            record["neighbours"],
        )
        if recipe.record() != dict(record):
            raise SchemeMismatch("passages", "its anchors come out otherwise here")
        return recipe


@cache
def _known_answer(recipe: PassageRecipe) -> str:
    """Return a digest of what becomes of the known texts."""
    digest = xxhash.xxh3_64()
    for text in (*KNOWN_TEXTS, *KNOWN_DISGUISES, _MIXED_TEXT):
        made = recipe.index(text)
        for array in (made.spans, made.hashes, made.starts, made.lengths, made.words):
            digest.update(array.astype("<u8").tobytes())
    return digest.hexdigest()
