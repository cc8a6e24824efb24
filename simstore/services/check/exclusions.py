"""Find the parts of a checked paper that do not count: templates, quotations, small matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.winnowing import Winnowing, grams
from simstore.model.check import Excluded, ExcludedAs
from simstore.services.check.paper_units import PaperUnits
from simstore.text.located import located_units
from simstore.text.normalization import Normalization
from simstore.text.passages import Span

# A character that could be left out for several reasons has the first of these.
REASONS: tuple[ExcludedAs, ...] = get_args(ExcludedAs)
_LINE = re.compile(r"[^\n]*\S[^\n]*")


class Exclusions:
    """The characters of a paper that do not count, each with one reason.

    Args:
        text: The paper.
    """

    def __init__(self, text: str) -> None:
        self._reasons = np.zeros(len(text), np.int8)
        self._is_ink = mask_of(len(text), [found.span() for found in re.finditer(r"\S+", text)])

    def add(self, reason: ExcludedAs, spans: Sequence[Span], but: Sequence[Span] = ()) -> None:
        """Exclude spans, where nothing else excludes them.

        Args:
            reason: Why.
            spans: What.
            but: What of them counts all the same.
        """
        size = len(self._reasons)
        fresh = mask_of(size, spans) & ~mask_of(size, but) & (self._reasons == 0)
        self._reasons[fresh] = 1 + REASONS.index(reason)

    def is_excluded(self, reason: ExcludedAs | None = None) -> NDArray[np.bool_]:
        """Return which characters are excluded so far.

        Args:
            reason: Those for it; None: all.
        """
        reasons = self._reasons
        found: NDArray[np.bool_] = (
            reasons != 0 if reason is None else reasons == 1 + REASONS.index(reason)
        )
        return found

    def main_reason(self, spans: Sequence[Span]) -> ExcludedAs | None:
        """Return why most of what is excluded of spans is; None: nothing of them is."""
        counts = np.bincount(
            self._reasons[mask_of(len(self._reasons), spans)], minlength=1 + len(REASONS)
        )[1:]
        return REASONS[int(counts.argmax())] if counts.any() else None

    def stretches(self) -> tuple[Excluded, ...]:
        """Return the stretches that do not count, in order; white space alone is none."""
        reasons = self._reasons
        edges = np.flatnonzero(np.diff(np.concatenate(([0], reasons, [0]))))
        found = []
        for start, end in zip(edges.tolist(), edges[1:].tolist(), strict=False):
            characters = int(self._is_ink[start:end].sum())
            if reasons[start] and characters:
                reason = REASONS[int(reasons[start]) - 1]
                found.append(Excluded(start=start, end=end, reason=reason, characters=characters))
        return tuple(found)


class Templates:
    """Texts that papers are made from, as an assignment or a form: what papers have of them.

    Args:
        texts: The templates.
        normalization: The form in which units are compared.
        winnowing: The lengths of grams.
    """

    def __init__(
        self, texts: Iterable[str], normalization: Normalization, winnowing: Winnowing
    ) -> None:
        texts = list(texts)
        hashes = [grams(located_units(text, normalization), winnowing).hashes for text in texts]
        self._hashes = np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]))
        self._lines = {_folded(found[0]) for text in texts for found in _LINE.finditer(text)}

    def spans(self, paper: PaperUnits) -> list[Span]:
        """Return the stretches that a paper has of them.

        Those are runs of a gram (four words, six characters) and more, and whole lines.
        """
        if not self._lines:
            return []
        known = np.isin(paper.grams.hashes, self._hashes)
        starts = paper.units.starts[paper.grams.first[known]].tolist()
        ends = paper.units.ends[paper.grams.last[known]].tolist()
        lines = [
            found.span() for found in _LINE.finditer(paper.text) if _folded(found[0]) in self._lines
        ]
        return _with_marks(paper.text, [*zip(starts, ends, strict=True), *lines])


def mask_of(size: int, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """Return which of so many characters lie in spans."""
    steps = np.zeros(size + 1, np.int64)
    if spans:
        bounds = np.array(spans, np.int64)
        np.add.at(steps, bounds[:, 0], 1)
        np.add.at(steps, bounds[:, 1], -1)
    return np.cumsum(steps[:-1]) > 0


def _folded(line: str) -> str:
    return " ".join(line.casefold().split())


def _with_marks(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the stretches that spans make together, with the signs between and behind them."""
    is_inside = mask_of(len(text), spans)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_inside, [False]))))
    joined: list[Span] = []
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        while end < len(text) and not text[end].isalnum() and not text[end].isspace():
            end += 1
        if joined and not any(map(str.isalnum, text[joined[-1][1] : start])):
            start = joined.pop()[0]
        joined.append((start, end))
    return joined
