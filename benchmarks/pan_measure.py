"""PAN's measure of plagiarism detection: precision, recall, granularity and plagdet.

A case is a stretch of a paper and the stretch of a source that it was taken from; a detection is
the same as a program tells it. A detection detects a case where both stretches overlap in both
texts. What counts are characters, of papers and of sources.

A stretch of a paper may stand in a document that it was not taken from, word for word. To tell that
document is no mistake and no find: :func:`judged` leaves such detections out.

References:
    Potthast, Stein, Barrón-Cedeño, Rosso: An evaluation framework for plagiarism detection, COLING
    2010, section 2.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A Chinese character, or a word of any other script.
_UNITS, _WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+"), re.compile(r"[^\u3400-\u9fff]")
# The run that is sure to be found, in words and in units of either kind.
_RUN_WORDS, _RUN = 8, 13


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A case or a detection: a stretch of a paper and one of a source, [start, end) in characters.

    Attributes:
        paper: Key of the paper.
        start: First character in the paper.
        end: The character behind its last.
        source: Key of the source.
        source_start: First character there.
        source_end: The character behind the last.
    """

    paper: str
    start: int
    end: int
    source: str
    source_start: int
    source_end: int

    @property
    def characters(self) -> int:
        """Return the characters of both stretches."""
        return self.end - self.start + self.source_end - self.source_start

    def detects(self, other: Passage) -> bool:
        """Return whether it overlaps another passage in the paper and in the source."""
        return (
            (self.paper, self.source) == (other.paper, other.source)
            and self.start < other.end
            and other.start < self.end
            and self.source_start < other.source_end
            and other.source_start < self.source_end
        )

    def common(self, other: Passage) -> Passage:
        """Return what both have, where each detects the other."""
        return Passage(
            paper=self.paper,
            start=max(self.start, other.start),
            end=min(self.end, other.end),
            source=self.source,
            source_start=max(self.source_start, other.source_start),
            source_end=min(self.source_end, other.source_end),
        )


@dataclass(frozen=True)
class Measured:
    """The measures of detections; plagdet is F1 / log2(1 + granularity)."""

    precision: float
    recall: float
    granularity: float

    @property
    def plagdet(self) -> float:
        """Return the harmonic mean of precision and recall, lessened by the granularity."""
        both = self.precision + self.recall
        f1 = 2 * self.precision * self.recall / both if both else 0.0
        return f1 / math.log2(1 + self.granularity)


def runs(text: str) -> set[tuple[str, ...]]:
    """Return the runs of the guaranteed length in a text: words, or units of either kind.

    Case, marks and white space do not count.
    """
    found = _units(text)
    of_words = (tuple(found[n : n + _RUN_WORDS]) for n in range(len(found) - _RUN_WORDS + 1))
    return {run for run in of_words if all(map(_WORD.match, run))} | {
        tuple(found[n : n + _RUN]) for n in range(len(found) - _RUN + 1)
    }


def judged(
    cases: Sequence[Passage],
    detections: Sequence[Passage],
    papers: Mapping[str, str],
    library: Mapping[str, str],
) -> list[Passage]:
    """Return the detections that count: without those in another document of the same characters.

    Such a detection has the same units in the paper and in the source from its first to its last,
    at least a run of the guaranteed length, and no case of its paper was taken from that source.

    Args:
        cases: The cases of the papers.
        detections: What a program tells of them.
        papers: The text of each paper.
        library: The text of each source.
    """
    planted = {(case.paper, case.source) for case in cases}

    def is_the_same(one: Passage) -> bool:
        text = papers[one.paper][one.start : one.end]
        source = library[one.source][one.source_start : one.source_end]
        return bool(runs(text)) and _units(text) == _units(source)

    return [one for one in detections if (one.paper, one.source) in planted or not is_the_same(one)]


def _units(text: str) -> list[str]:
    return [unit.casefold() for unit in _UNITS.findall(text)]


def micro(cases: Sequence[Passage], detections: Sequence[Passage]) -> Measured:
    """Return the measures with every character counted once, whatever passage it is in."""
    pairs = _pairs(cases, detections)
    right = _characters(case.common(detection) for case, detection in pairs)
    wanted, told = _characters(cases), _characters(detections)
    return Measured(
        right / told if told else 0.0, right / wanted if wanted else 0.0, _granularity(pairs)
    )


def macro(cases: Sequence[Passage], detections: Sequence[Passage]) -> Measured:
    """Return the measures as means over the detections (precision) and the cases (recall)."""
    pairs = _pairs(cases, detections)
    of_case, of_detection = defaultdict(list), defaultdict(list)
    for case, detection in pairs:
        common = case.common(detection)
        of_case[case].append(common)
        of_detection[detection].append(common)

    def mean(passages: Sequence[Passage], right: dict[Passage, list[Passage]]) -> float:
        shares = [_characters(right.get(one, ())) / one.characters for one in passages]
        return sum(shares) / len(shares) if shares else 0.0

    return Measured(mean(detections, of_detection), mean(cases, of_case), _granularity(pairs))


def _granularity(pairs: Sequence[tuple[Passage, Passage]]) -> float:
    """Return how many detections a detected case has on average; 1 where none is detected."""
    detected = {case for case, _ in pairs}
    return len(pairs) / len(detected) if detected else 1.0


def _pairs(
    cases: Sequence[Passage], detections: Sequence[Passage]
) -> list[tuple[Passage, Passage]]:
    by_text: dict[tuple[str, str], list[Passage]] = defaultdict(list)
    for detection in dict.fromkeys(detections):
        by_text[detection.paper, detection.source].append(detection)
    return [
        (case, detection)
        for case in dict.fromkeys(cases)
        for detection in by_text[case.paper, case.source]
        if detection.detects(case)
    ]


def _characters(passages: Iterable[Passage]) -> int:
    """Count the characters of papers and sources that are in passages, each once."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for one in passages:
        spans["paper", one.paper].append((one.start, one.end))
        spans["source", one.source].append((one.source_start, one.source_end))
    return sum(_covered(np.array(of_text, np.int64)) for of_text in spans.values())


def _covered(spans: NDArray[np.int64]) -> int:
    """Count the places in spans, each once."""
    ordered = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.r_[0, np.maximum.accumulate(ordered[:, 1])[:-1]]
    return int(np.maximum(ordered[:, 1] - np.maximum(ordered[:, 0], reach), 0).sum())
