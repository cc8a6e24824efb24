"""The result of comparing two texts: measurements of several algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simstore.model.results import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedPlace:
    """A place of a text that is compared otherwise than it stands there.

    >>> cyrillic = chr(0x435)
    >>> comparison = compare_texts("pear", f"p{cyrillic}ar")
    >>> [(place.start, place.compared) for place in comparison.second.folded]
    [(0, 'pear')]

    Attributes:
        start: Its first character.
        end: The character after its last.
        given: What stands there.
        compared: What is compared in its place.
    """

    start: int
    end: int
    given: str
    compared: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedText(Shown):
    """Statistics of one of two compared texts.

    >>> comparison = store.compare("ferry-2025", "bread-1")
    >>> comparison.second.name, comparison.second.character_count
    ('bread-1', 91)

    Attributes:
        name: Key, path, or ``-``.
        byte_count: Bytes of the text in UTF-8.
        character_count: Characters from which shingles are cut.
        shingle_count: Shingles, with repetitions.
        distinct_shingles: Distinct shingles.
        feature_count: Features, with repetitions.
        distinct_features: Distinct features.
        flags: What in the text hides words from a program, and honest texts
            hardly have.
        folded: The first 20 places where that was folded.
    """

    name: str
    byte_count: int
    character_count: int
    shingle_count: int
    distinct_shingles: int
    feature_count: int
    distinct_features: int
    flags: tuple[str, ...] = ()
    folded: tuple[FoldedPlace, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(Shown):
    """The measures that one algorithm computes of two texts.

    >>> comparison = store.compare("ferry-2025", "ferry-2026")
    >>> found = comparison.measurement("resemblance")
    >>> found.algorithm, round(found.values["jaccard"], 2)
    ('resemblance', 0.95)

    Attributes:
        algorithm: Its name.
        values: Its measures by name, in order; None where a measure is not
            defined for the texts.
        detail: What the measures go by, in words.
        seconds: Time from the texts to the measures, steps shared with other
            algorithms included.
    """

    algorithm: str
    values: Mapping[str, float | int | bool | str | None]
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """Two texts and the measurements of every algorithm.

    >>> comparison = store.compare("ferry-2025", "ferry-2026")
    >>> comparison.similar
    True
    >>> round(comparison.measurement("resemblance").values["jaccard"], 2)
    0.95

    Attributes:
        first: The first text, A.
        second: The second text, B.
        measurements: One an algorithm, in a fixed order.
        similar: The resemblance of the shingles reaches the threshold; None
            where neither text has a shingle.
    """

    _HOLDS = ("measurements", Measurement)

    first: ComparedText
    second: ComparedText
    measurements: tuple[Measurement, ...]
    similar: bool | None

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def measurement(self, algorithm: str) -> Measurement:
        """Return the measurement of an algorithm.

        Raises:
            KeyError: There is none of this name.
        """
        for found in self.measurements:
            if found.algorithm == algorithm:
                return found
        raise KeyError(algorithm)
