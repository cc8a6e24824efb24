"""Prepare two texts for comparison (shingles, feature counts), by the given options."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from simstore.errors import InvalidParameter
from simstore.fingerprint import counting_bloom, imatch
from simstore.fingerprint.features import FeatureCounts, count_features
from simstore.fingerprint.scheme import Scheme
from simstore.fingerprint.shingle_sets import ShingleSets, shingle_sets
from simstore.fingerprint.web import WebScheme
from simstore.model.arguments import check_fields
from simstore.search.resemblance import Overlap, overlap
from simstore.text import segmentation
from simstore.text.decoding import encode
from simstore.text.folding import HAN_RUN
from simstore.text.normalization import FOLDED, Normalization
from simstore.text.recipes import FeatureRecipe
from simstore.text.tokens import tokens
from simstore.text.words import terms


def characters(text: str, normalization: Normalization | None) -> str:
    """Return the characters of a text.

    Args:
        text: Any text.
        normalization: Its form, in which each run of white space is one blank, none at the ends;
            None: the text as it is.
    """
    return text if normalization is None else " ".join(normalization.apply(text).split())


def words(text: str, normalization: Normalization, segmenter: str = "chars") -> list[str]:
    """Return the words of a text, with repetitions.

    A run of letters, marks and digits of a script with blanks between words is a word; each
    character of a script without them, and of Hangul, is one, but that a segmenter cuts runs of Han
    characters into words. Where there is neither, runs of other visible characters are the words.

    Args:
        text: Any text.
        normalization: Its form.
        segmenter: ``chars``, or one of :func:`simstore.text.segmentation.segmenter`.

    Raises:
        InvalidParameter: There is no such segmenter.
        MissingExtra: The segmenter is not installed.
    """
    if segmenter == "chars":
        return tokens(normalization.apply(text))
    to_words = segmentation.segmenter(segmenter)

    def cut(run: str) -> list[str]:
        found: list[str] = []
        place = 0
        for han in HAN_RUN.finditer(run):
            found += run[place : han.start()]
            found += to_words(han.group())
            place = han.end()
        return found + list(run[place:])

    return terms(text, normalization, cut)


CompareUnits = Literal["characters", "words"]
CompareFeatures = Literal["terms", "words", "characters", "shingles"]
UNITS: tuple[str, ...] = get_args(CompareUnits)
FEATURES: tuple[str, ...] = get_args(CompareFeatures)
MAX_SHINGLE = 1000
_AS_IT_IS = Normalization(case="keep", width="keep")


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of a comparison.

    >>> options = CompareOptions(units="words", shingle=2)
    >>> comparison = store.compare("ferry-2025", "ferry-2026", options)
    >>> round(comparison.measurement("resemblance").values["jaccard"], 2)
    0.91

    Attributes:
        units: What a shingle is made of: ``characters`` or ``words``.
        shingle: Units a shingle, 1 to 1000.
        normalization: One form for both texts, in which each run of white space
            is one blank, none at the ends; None: characters as they are, terms
            and words in their own case and width.
        segmenter: How runs of Han characters are cut into words and terms:
            ``chars`` (words of one character, terms of two), or one of
            :mod:`simstore.text.segmentation`.
        features: What is counted for SimHash, I-Match, the counting filter and
            the vectors: ``terms`` (those of the scheme ``web``), ``words``,
            ``characters``, or the same ``shingles`` again.
        weights: What a feature's count weighs in SimHash and in the vectors;
            those with idf need the counts of a store of the same features.
        feature_hash: Hash of a feature in SimHash.
        bits: Lengths of the SimHash fingerprints.
        similar_at: Least resemblance of two similar texts, 0 to 1.
        lexicons: Random lexicons of I-Match.
        idf_band: Least and largest normalized idf of I-Match's lexicon, where a
            store has counts.
        seed: Chooses the random lexicons.
        filter_counters: Counters of the counting Bloom filter, a power of two;
            None: 256 for each distinct feature of the two texts, rounded up,
            from 2**16 to 2**26.
        filter_hashes: Counters a feature.

    Raises:
        InvalidParameter: An option is out of its range.
    """

    units: CompareUnits = "characters"
    shingle: int = 5
    normalization: Normalization | None = FOLDED
    segmenter: str = "chars"
    features: CompareFeatures = "terms"
    weights: str = "log-tf"
    feature_hash: str = "xxh3"
    bits: tuple[int, ...] = (64, 128)
    similar_at: float = 0.2
    lexicons: int = 10
    idf_band: tuple[float, float] = (0.2, 0.9)
    seed: int = 0
    filter_counters: int | None = None
    filter_hashes: int = 4

    def __post_init__(self) -> None:
        check_fields(self)
        if self.units not in UNITS:
            raise InvalidParameter(f"units {self.units!r}: choose one of {', '.join(UNITS)}")
        if self.features not in FEATURES:
            raise InvalidParameter(
                f"features {self.features!r}: choose one of {', '.join(FEATURES)}"
            )
        if not 1 <= self.shingle <= MAX_SHINGLE:
            raise InvalidParameter(f"a shingle of {self.shingle} units: choose 1 to {MAX_SHINGLE}")
        if not 0 <= self.similar_at <= 1:
            raise InvalidParameter(f"similar at {self.similar_at:g}: a resemblance is from 0 to 1")
        if not 0 <= self.lexicons <= 1000:
            raise InvalidParameter(f"{self.lexicons} random lexicons: choose 0 to 1000")
        if not 0 <= self.seed < 1 << 64:
            raise InvalidParameter(f"seed {self.seed}: choose 0 to 2**64 - 1")
        imatch.check_band(*self.idf_band)
        counters = self.filter_counters
        counting_bloom.check_filter(1 << 16 if counters is None else counters, self.filter_hashes)
        for bits in self.bits:
            self.scheme(bits)

    @property
    def form_of_words(self) -> Normalization:
        """Return the normalization of terms and words."""
        return _AS_IT_IS if self.normalization is None else self.normalization

    def counts_like(self, scheme: Scheme) -> bool:
        """Return whether the features are those that a scheme counts in texts."""
        return (
            self.features == "terms"
            and isinstance(scheme, WebScheme)
            and scheme.recipe == self.scheme().recipe
            and not scheme.stopwords
        )

    def scheme(self, bits: int = 64) -> WebScheme:
        """Return the scheme that makes terms and fingerprints."""
        recipe = FeatureRecipe(self.form_of_words, segmenter=self.segmenter)
        return WebScheme(bits, weights=self.weights, feature_hash=self.feature_hash, recipe=recipe)


class CompareKeywords(TypedDict, total=False):
    """Options by name, as :class:`CompareOptions` describes them."""

    units: CompareUnits
    shingle: int
    normalization: Normalization | None
    segmenter: str
    features: CompareFeatures
    weights: str
    feature_hash: str
    bits: tuple[int, ...]
    similar_at: float
    lexicons: int
    idf_band: tuple[float, float]
    seed: int
    filter_counters: int | None
    filter_hashes: int


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """A store's document counts for the features of two texts.

    Attributes:
        label: Name of the store.
        scheme: Name of its scheme.
        counts: Features of both texts, as that scheme counts them.
        document_counts: Stored documents with each feature, shape (terms,).
        documents: Stored documents.
        serves_weights: The options count the same features.
    """

    label: str
    scheme: str
    counts: FeatureCounts
    document_counts: NDArray[np.int64]
    documents: int
    serves_weights: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two texts, with the shingles and feature counts that several algorithms share.

    Attributes:
        data: The texts in UTF-8.
        units: The units of which shingles are made, in order.
        character_counts: Characters of the texts in the form from which units are cut.
        sets: Their shingles.
        shingle_seconds: Time from the texts to the shingles.
        counts: Their counted features.
        feature_seconds: Time from the texts to the counted features.
    """

    data: tuple[bytes, bytes]
    units: tuple[Sequence[str], Sequence[str]]
    character_counts: tuple[int, int]
    sets: ShingleSets
    shingle_seconds: float
    counts: FeatureCounts
    feature_seconds: float

    def overlap(self) -> Overlap:
        """Return the overlap of the two shingle sets."""
        return overlap(self.sets.row(0), self.sets.row(1))


def prepare(texts: tuple[str, str], options: CompareOptions) -> Prepared:
    """Cut shingles and count features of two texts."""
    data = encode(texts[0]), encode(texts[1])
    start = time.perf_counter()
    units = (
        _units(texts[0], options.units, options),
        _units(texts[1], options.units, options),
    )
    sets = shingle_sets(([one] for one in units), options.shingle)
    between = time.perf_counter()
    if options.features == "terms":
        counts = options.scheme().count(texts)
    else:
        counts = count_features(iter((_features(text, options),)) for text in texts)
    feature_seconds = time.perf_counter() - between
    sizes = [len(characters(text, options.normalization)) for text in texts]
    return Prepared(
        data, units, (sizes[0], sizes[1]), sets, between - start, counts, feature_seconds
    )


def _units(text: str, units: str, options: CompareOptions) -> Sequence[str]:
    if units == "characters":
        return characters(text, options.normalization)
    return words(text, options.form_of_words, options.segmenter)


def _features(text: str, options: CompareOptions) -> list[str]:
    if options.features != "shingles":
        return list(_units(text, options.features, options))
    units = _units(text, options.units, options)
    glue = " " if options.units == "words" else ""
    size = min(options.shingle, len(units))
    count = len(units) - size + 1 if size else 0
    return [glue.join(units[place : place + size]) for place in range(count)]
