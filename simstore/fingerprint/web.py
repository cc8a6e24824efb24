"""The scheme ``web``, for texts of any language: hashed words and character bigrams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from simstore import compiled
from simstore.errors import InvalidParameter
from simstore.fingerprint.feature_hash import FEATURE_HASHES, feature_hashes, left_aligned
from simstore.fingerprint.features import FeatureCounts, count_features, count_scanned
from simstore.fingerprint.kernels import SUMS_OF_PLACES
from simstore.fingerprint.packed_terms import PackedTerms, first_code_points
from simstore.fingerprint.scheme import Scheme, SchemeRecord
from simstore.fingerprint.simhash import check_bits, fingerprints
from simstore.fingerprint.weights import (
    COUNT_PART,
    SCALE,
    WEIGHTINGS,
    damped_weights,
    integer_weights,
    logarithmic_weights,
)
from simstore.text.characters import CHARACTER, class_table
from simstore.text.folding import HAN_RUN
from simstore.text.recipes import FeatureRecipe, scan_terms, scan_words
from simstore.text.scanning import Scanned

if TYPE_CHECKING:
    from simstore.fingerprint.one_text import PreparedText

MAX_WEIGHT = 1_000_000
CODES = ("enum", "enum-slides")
_FORM = "NAME:enum:VALUE,VALUE,...:WEIGHT"


@dataclass(frozen=True, slots=True)
class EnumeratedField:
    """A metadata field whose value is a feature.

    A document without the field, or with a value that is not listed, has no such feature.

    Attributes:
        name: Name of the field; it holds a letter or a digit, and no colon.
        values: The values, distinct; numbers and truth values as JSON writes them.
        weight: What the value weighs: as much as so many words that occur once; 1 to 1,000,000.
        code: How a value becomes bits: ``enum``, or ``enum-slides``, the code of the lecture; see
            :meth:`hashes`.

    Raises:
        InvalidParameter: One of those does not hold.
    """

    name: str
    values: tuple[str, ...]
    weight: int = 1
    code: str = "enum"

    def __post_init__(self) -> None:
        if ":" in self.name or not any(c.isalnum() for c in self.name):
            raise InvalidParameter(f"field name {self.name!r}: give it a letter, and no colon")
        if not self.values or "" in self.values or len(set(self.values)) < len(self.values):
            raise InvalidParameter(f"field {self.name!r}: list its values once each, as in a,b,c")
        if self.code not in CODES:
            raise InvalidParameter(
                f"field {self.name!r}: code {self.code!r}; choose one of {', '.join(CODES)}"
            )
        if not 1 <= self.weight <= MAX_WEIGHT:
            raise InvalidParameter(
                f"field {self.name!r}: weight {self.weight}; it must be from 1 to {MAX_WEIGHT:,}"
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the field that ``NAME:CODE:VALUE,VALUE,...:WEIGHT`` describes."""
        name, code, rest = (*text.split(":", 2), "", "")[:3]
        values, colon, weight = rest.rpartition(":")
        if code not in CODES or not colon or not weight.isascii() or not weight.isdigit():
            raise InvalidParameter(f"field {text!r}: write it as {_FORM}, WEIGHT a whole number")
        return cls(name, tuple(values.split(",")), int(weight), code)

    def __str__(self) -> str:
        return f"{self.name}:{self.code}:{','.join(self.values)}:{self.weight}"

    def term(self, value: str) -> str:
        """Return the feature of a value: no text has one with ``=`` beside a letter."""
        return f"{self.name}={value}"

    def term_of(self, metadata: Mapping[str, Any]) -> str | None:
        """Return the feature of a document with these metadata; None where it has none."""
        value = metadata.get(self.name)
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, int | float):
            value = str(value)
        return self.term(value) if isinstance(value, str) and value in self.values else None

    def hashes(self, bits: int) -> dict[str, int]:
        """Return the hash of each value's feature: its place in the list, over and over.

        With b bits for the number of values, the place from 0 on is repeated ``bits // b`` times,
        so that two values differ in at least that many bits. Bits that are left over are 0; with
        ``enum-slides`` they hold the low bits of one more copy, as in the Java code of the lecture
        (64 bits there).

        Args:
            bits: Fingerprint length M.

        Raises:
            InvalidParameter: M bits cannot tell the values apart.
        """
        width = max((len(self.values) - 1).bit_length(), 1)
        if width > bits:
            raise InvalidParameter(
                f"field {self.name!r}: {bits} bits cannot tell {len(self.values)} values apart"
            )
        copies = bits // width + (self.code == "enum-slides")
        ones = sum(1 << width * n for n in range(copies))
        mask = (1 << bits) - 1
        return {self.term(value): place * ones & mask for place, value in enumerate(self.values)}


# What counting takes without a compiler, for a guess whether it pays.
_SECONDS_A_CALL = 1e-3
_SECONDS_A_CHARACTER = 4e-8
# Features of characters are added up as they come for fingerprints of so many bits at most.
_ADDED_UP_BITS = 64


class WebScheme(Scheme):
    r"""Features of normalized texts, hashed and weighted.

    Disguises are folded, Chinese scripts meet, and repetition is damped in all scripts.

    Example:
        >>> scheme = WebScheme()
        >>> counts = scheme.count(["cheap boats", "che\u200bap b\u043eats"])
        >>> plain, hidden = scheme.fingerprints(counts)
        >>> bool((plain == hidden).all())
        True

    Args:
        bits: Fingerprint length M, 1 to 128.
        weights: ``log-tf`` (words weigh 1 + ln of their count, features of characters their
            count, from 5 on less), ``tf`` (all weigh their count) or ``uniform`` (all weigh 1);
            ``log-tf-idf``, ``tf-idf`` and ``idf``: these, times the inverse document frequency in
            the store.
        stopwords: Normalized terms that are no features, and take part in none.
        tie: ``zero`` or ``one``: the bit that a zero sum gives.
        feature_hash: One of :data:`~simstore.fingerprint.feature_hash.FEATURE_HASHES`.
        recipe: How a text becomes features; default words and character 2-grams, normalized.
        fields: Metadata fields whose values are features too.
    """

    name = "web"
    version = 1
    least_features = 8

    def __init__(
        self,
        bits: int = 64,
        *,
        weights: str = "log-tf",
        stopwords: frozenset[bytes] = frozenset(),
        tie: str = "zero",
        feature_hash: str = "xxh3",
        recipe: FeatureRecipe | None = None,
        fields: Sequence[EnumeratedField] = (),
    ) -> None:
        check_bits(bits)
        _check_choice("weights", weights, WEIGHTINGS)
        _check_choice("tie", tie, ("zero", "one"))
        _check_choice("feature hash", feature_hash, FEATURE_HASHES)
        recipe = FeatureRecipe() if recipe is None else recipe
        if stopwords and recipe.units == "characters":
            raise InvalidParameter("stop words need the units words, not characters")
        self.bits = bits
        self.weights = weights
        self.stopwords = stopwords
        self.tie = tie
        self.feature_hash = feature_hash
        self.recipe = recipe
        self.normalization = recipe.normalization
        self.fields = tuple(fields)
        self.corpus = "frequencies" if weights in COUNT_PART else "none"
        self.reads_metadata = bool(self.fields)
        if len({field.name for field in self.fields}) < len(self.fields):
            raise InvalidParameter("a metadata field is named twice")
        self._field_hashes = {
            term.encode("utf-8", "surrogatepass"): (number, field.weight)
            for field in self.fields
            for term, number in field.hashes(bits).items()
        }

    @classmethod
    def from_record(cls, record: SchemeRecord) -> Self:
        """Return the scheme that a store records; absent options are the defaults."""
        parameters = record.parameters
        return cls(
            record.bits,
            weights=parameters["weights"],
            stopwords=frozenset(record.stopwords.split(b"\n")) - {b""},
            tie=parameters["tie"],
            feature_hash=parameters["feature_hash"],
            recipe=FeatureRecipe.from_parameters(parameters),
            fields=[EnumeratedField.parse(field) for field in parameters.get("fields", ())],
        )

    def count(
        self, texts: Sequence[str], metadata: Sequence[Mapping[str, Any]] | None = None
    ) -> FeatureCounts:
        """Count the features of each text, and of its metadata where the scheme has fields."""
        plain = self.recipe.counts_terms
        if not self.fields and self.recipe.scannable:
            size = sum(map(len, texts))
            if compiled.pays(_SECONDS_A_CHARACTER * size):
                return count_scanned(scan_terms(texts, self.recipe), self.stopwords)
        extract = self.recipe.extractor(frozenset() if plain else self.stopwords)
        documents: Iterator[Iterator[list[str]]] = (extract(text) for text in texts)
        if self.fields:
            given = metadata if metadata is not None else [{}] * len(texts)
            documents = (
                chain(features, (self._field_terms(fields),))
                for features, fields in zip(documents, given, strict=True)
            )
        return count_features(documents, self.stopwords if plain else frozenset())

    def scan(self, texts: Sequence[str]) -> Scanned | None:
        """Return the words of texts; None where they are not their features and tokens alike."""
        seconds = _SECONDS_A_CALL + _SECONDS_A_CHARACTER * sum(map(len, texts))
        if self.fields or not self.recipe.scannable or not compiled.pays(seconds):
            return None
        return scan_words(texts, self.recipe)

    def count_words(self, scanned: Scanned) -> FeatureCounts:
        """Count the features of texts by their words."""
        return count_scanned(scanned, self.stopwords)

    def token_counts(self, counts: FeatureCounts) -> NDArray[np.int64]:
        """Return how many features each text itself has: those of its metadata do not count."""
        totals = counts.token_counts()
        if not self.fields:
            return totals
        of_field = np.array([term in self._field_hashes for term in counts.terms], bool)
        rows = np.repeat(np.arange(len(counts)), np.diff(counts.offsets))
        chosen = of_field[counts.columns]
        return totals - np.bincount(rows[chosen], counts.counts[chosen], len(counts)).astype(
            np.int64
        )

    def _field_terms(self, metadata: Mapping[str, Any]) -> list[str]:
        found = (field.term_of(metadata) for field in self.fields)
        return [term for term in found if term is not None]

    def fingerprints(
        self, counts: FeatureCounts, standing: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint64]:
        """Make a fingerprint of each row from its terms.

        Raises:
            InvalidParameter: The weights depend on the corpus and ``standing`` is missing.
        """
        hashes = feature_hashes(counts.terms, self.bits, self.feature_hash)
        weights = self._weights(counts, standing)
        for column, term in enumerate(counts.terms if self.fields else ()):
            if term in self._field_hashes:
                number, weight = self._field_hashes[term]
                hashes[column] = left_aligned([number], self.bits)[0]
                weights = np.where(counts.columns == column, weight * self._unit, weights)
        return fingerprints(
            counts.offsets,
            counts.columns,
            weights,
            hashes,
            self.bits,
            1 if self.tie == "one" else 0,
        )

    def fingerprinted(
        self,
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        scanned: Scanned | None = None,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Make fingerprints of texts whose feature counts nobody wants.

        Terms are not put in order for it, and features of characters are added up as they come,
        without being told apart: they weigh their counts.
        """
        adds_up = (
            self.weights in ("log-tf", "tf")
            and self.feature_hash == "xxh3"
            and self.bits <= _ADDED_UP_BITS
            and self.recipe.scannable
            and not (self.fields or self.stopwords)
        )
        if not (adds_up and compiled.pays(_SECONDS_A_CHARACTER * sum(map(len, texts)))):
            return super().fingerprinted(texts, metadata, scanned)
        if scanned is None:
            scanned = scan_terms(texts, self.recipe, apart=True)
        terms = PackedTerms.of_scanned(scanned)
        sizes = np.diff(scanned.offsets)
        damped = np.empty(0, np.int64)
        if self.weights == "tf":
            linear, of_counts = np.ones(len(terms), bool), np.ones(1, np.int64)
        else:
            linear = self._weigh_their_counts(terms)
            of_counts = logarithmic_weights(int(sizes.max(initial=1)))
            most = int(np.diff(scanned.key_offsets).max(initial=1))
            damped = damped_weights(max(most, int(sizes.max(initial=1))))
        made = np.empty((len(texts), 1), np.uint64)
        SUMS_OF_PLACES(
            numbers=scanned.numbers, places=scanned.offsets,
            hashes=feature_hashes(terms, self.bits), linear=linear, weight_of=of_counts,
            damped=damped, key_offsets=scanned.key_offsets, keys=scanned.keys, unit=self._unit,
            bits=self.bits, tie=self.tie == "one", result=made,
        )  # fmt: skip
        return made, sizes + np.diff(scanned.key_offsets)

    def prepared_alone(self, text: str, encoded: bytes, shingle: int) -> PreparedText | None:
        """Return what a store keeps of one text, made at once; None: it is prepared as a batch."""
        # What it takes in NumPy; it has to repay the load of the kernels.
        seconds = _SECONDS_A_CALL + _SECONDS_A_CHARACTER * len(text)
        if not self._is_usual or not compiled.pays(seconds):
            return None
        from simstore.fingerprint.one_text import prepared_text

        is_ascii = text.isascii()
        return prepared_text(
            # The scanner takes surrogates for what separates.
            encoded if is_ascii else text.encode("utf-8", "surrogatepass"),
            self.normalization,
            is_ascii=is_ascii,
            bits=self.bits,
            tie=1 if self.tie == "one" else 0,
            shingle=shingle,
        )

    @cached_property
    def _is_usual(self) -> bool:
        """Return whether words are hashed and weighed as nearly everywhere."""
        return (
            self.weights == "log-tf"
            and self.feature_hash == "xxh3"
            and self.bits <= _ADDED_UP_BITS
            and self.recipe.scannable
            and not (self.fields or self.stopwords)
        )

    @property
    def _unit(self) -> int:
        """Return the weight of a word that occurs once, in a corpus where all documents have it."""
        return 1 if self.weights in ("tf", "uniform") else SCALE

    def _weights(
        self, counts: FeatureCounts, standing: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        of_counts = COUNT_PART.get(self.weights, self.weights)
        weights = integer_weights(counts.counts, of_counts)
        if of_counts == "log-tf":
            linear = self._weigh_their_counts(counts.terms)
            damped = damped_weights(int(counts.counts.max(initial=1)))
            of_characters = damped[np.minimum(counts.counts, len(damped) - 1)]
            weights = np.where(linear[counts.columns], of_characters, weights)
        if self.corpus == "none":
            return weights
        if standing is None:
            raise InvalidParameter(f"the weights {self.weights} need the frequencies of a corpus")
        weights = weights * standing[counts.columns]
        # Both factors are in 1/1024 here.
        return (weights + SCALE // 2) // SCALE if of_counts == "log-tf" else weights

    def _weigh_their_counts(self, terms: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return which features are of characters, not of words."""
        found: NDArray[np.bool_] = class_table()[first_code_points(terms)] == CHARACTER
        if self.recipe.segmenter != "chars":
            for place in np.flatnonzero(found).tolist():
                first = terms[place].decode("utf-8", "surrogatepass")[0]
                found[place] = HAN_RUN.match(first) is None
        return found

    def known_documents(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return known texts, those of an option's packages, two a field, and a repetitive one."""
        found = [*super().known_documents(), *((text, {}) for text in self.recipe.known_texts)]
        for field in self.fields:
            found += [("one field", {field.name: v}) for v in (field.values[0], field.values[-1])]
        return [*found, ("ทะเล字典" * 40 + "ประโยค", {})]

    def parameters(self) -> dict[str, Any]:
        """Return weights, tie and hash, and the other options that are not the defaults."""
        found: dict[str, Any] = {
            "weights": self.weights,
            "tie": self.tie,
            "feature_hash": self.feature_hash,
            **self.recipe.parameters(),
        }
        if self.fields:
            found["fields"] = [str(field) for field in self.fields]
        return found

    def stopword_lines(self) -> bytes:
        """Return the stop words, sorted, one a line."""
        return b"\n".join(sorted(self.stopwords))


def _check_choice(option: str, value: str, values: Sequence[str] | Mapping[str, Any]) -> None:
    if value not in values:
        raise InvalidParameter(f"{option} {value!r}: choose one of {', '.join(values)}")
