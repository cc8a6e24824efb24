"""Choose the copies of a checked paper that count, and note why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simstore.model import CheckOptions, Copy
from simstore.search.cases import CopySpan
from simstore.services.check.exclusions import Exclusions
from simstore.text.located import LocatedUnits
from simstore.text.passages import Span

# Weights are sums of fractions.
_ENOUGH = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class UnitCopy:
    """A copy with its blocks in units of the paper and the source, for the passages.

    Attributes:
        copy: The copy.
        blocks: First unit in the paper, first unit in the source, units; in order.
        span: Where it lies, and how much of it is the same, to join it with others.
        excluded: Whether its source is excluded.
    """

    copy: Copy
    blocks: tuple[tuple[int, int, int], ...]
    span: CopySpan
    excluded: bool = False

    @property
    def place(self) -> Span:
        """Return where it begins and ends in the paper."""
        return self.copy.start, self.copy.end


@dataclass(frozen=True, slots=True)
class PaperMeasure:
    """The units of a paper, and how many of them are a copy.

    Attributes:
        units: The units.
        least: Words, and characters of scripts without blanks, that a copy has to have.
        smallest: The same of copies that are found, if only to say that they do not count.
    """

    units: LocatedUnits
    least: tuple[int, int]
    smallest: tuple[int, int]

    def of(self, copy: UnitCopy) -> NDArray[np.int64]:
        """Return the units of the paper that a copy has in common with its source."""
        if copy.blocks:
            parts = [np.arange(place, place + size) for place, _, size in copy.blocks]
            return np.concatenate(parts).astype(np.int64)
        return np.arange(*np.searchsorted(self.units.starts, copy.place).tolist(), dtype=np.int64)

    def is_enough(self, chosen: NDArray[np.int64], least: tuple[int, int]) -> bool:
        """Return whether units are as many as the least."""
        words = int(self.units.spaced[chosen].sum())
        return words / least[0] + (len(chosen) - words) / least[1] >= _ENOUGH


def counted_cases(
    cases: Sequence[list[UnitCopy]],
    measure: PaperMeasure,
    exclusions: Exclusions,
    options: CheckOptions,
) -> list[list[UnitCopy]]:
    """Return the cases that count, with those of their copies that do.

    Args:
        cases: The copies of each case, of all sources.
        measure: The paper.
        exclusions: What does not count whatever has it; the rest is added here.
        options: What is too small to count.
    """
    starts = measure.units.starts
    is_out = exclusions.is_excluded()[starts]
    # What is quoted has a source all the same, which a reader wants to see.
    of_template = exclusions.is_excluded("template")[starts]
    found: list[list[UnitCopy]] = []
    for case in cases:
        if not case[0].excluded and (case := _large(case, measure)):
            same = np.unique(np.concatenate([measure.of(each) for each in case]))
            if not of_template[same].any() or _is_left(same, measure, of_template):
                found.append(case)
    found = _of_large_sources(found, measure, is_out, options.min_source_words or 0)
    _note(cases, found, measure, exclusions)
    return found


def _is_left(same: NDArray[np.int64], measure: PaperMeasure, is_out: NDArray[np.bool_]) -> bool:
    """Return whether a stretch is left that is long enough to be a copy by itself.

    Of a form that many have filled in, a few words are left between its lines.

    Args:
        same: The units of a case, ascending.
        measure: The paper.
        is_out: Which of its units its templates have.
    """
    left = same[~is_out[same]]
    stretches = np.cumsum(is_out)[left]
    parts = np.split(left, np.flatnonzero(np.diff(stretches)) + 1)
    return any(measure.is_enough(part, measure.smallest) for part in parts)


def _large(case: list[UnitCopy], measure: PaperMeasure) -> list[UnitCopy]:
    """Return the copies of a case that are as long as is asked for."""
    if measure.least == measure.smallest:
        return case
    return [each for each in case if measure.is_enough(measure.of(each), measure.least)]


def _of_large_sources(
    cases: list[list[UnitCopy]], measure: PaperMeasure, is_out: NDArray[np.bool_], least: int
) -> list[list[UnitCopy]]:
    """Return the cases of sources that have as many units in common with the paper."""
    if not least:
        return cases
    common: dict[int, set[int]] = {}
    for case in cases:
        units = common.setdefault(case[0].copy.source_document_id, set())
        for each in case:
            same = measure.of(each)
            units.update(same[~is_out[same]].tolist())
    return [case for case in cases if len(common[case[0].copy.source_document_id]) >= least]


def _note(
    cases: Sequence[list[UnitCopy]],
    counted: Sequence[list[UnitCopy]],
    measure: PaperMeasure,
    exclusions: Exclusions,
) -> None:
    """Exclude what only copies have that do not count."""
    places = [each.place for case in counted for each in case]
    is_counted = {id(each) for case in counted for each in case}
    own, small_sources, small_matches = list[Span](), list[Span](), list[Span]()
    for case in cases:
        left_out = [each for each in case if id(each) not in is_counted]
        if not left_out or left_out[0].excluded:
            own += [each.place for each in left_out]
            continue
        reason = exclusions.main_reason([each.place for each in left_out])
        large = {id(each) for each in _large(case, measure)}
        if reason is not None:
            exclusions.add(reason, [each.place for each in left_out], places)
        else:
            small_sources += [each.place for each in left_out if id(each) in large]
            small_matches += [each.place for each in left_out if id(each) not in large]
    exclusions.add("excluded source", own, places)
    exclusions.add("small source", small_sources, places)
    exclusions.add("small match", small_matches, places)
