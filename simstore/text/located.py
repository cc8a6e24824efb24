"""Split a text into tokens with their character offsets in the original text.

Tokens, called units in the code, are those of :mod:`simstore.text.tokens`: words of scripts with
blanks, characters of the others. Here each is a hash and a span, so that what is found by tokens
can be shown in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simstore.text.characters import CHARACTER, SEPARATOR, WORD, class_table, code_points
from simstore.text.folding import HAN_RUN, simplify
from simstore.text.forms import DEPENDS, DROPPED, forms_of_texts
from simstore.text.normalization import DEFAULT, Normalization
from simstore.text.tokens import GAMMA, mix

_FIRST_EXPANSION = -3
_BLANKS = np.array([ord(c) for c in map(chr, range(0x3001)) if c.isspace()], np.uint32)


def _no_breaks() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class LocatedUnits:
    """The tokens of a text with their offsets, in order.

    Attributes:
        hashes: A hash of each unit's normalized form: equal units have equal hashes, in every
            process and every year; uint64, shape (units,).
        starts: First code point of each in the text as it was given; int32, not descending.
        ends: The code point after its last; int32. Several units of one character that stands for
            them (``㈱``) have one span.
        spaced: Whether the unit is a word of a script with blanks between words; else it is a
            character of another script.
        breaks: Of joined texts, the first unit of each text but the first, in order.
    """

    hashes: NDArray[np.uint64]
    starts: NDArray[np.int32] | NDArray[np.int64]
    ends: NDArray[np.int32] | NDArray[np.int64]
    spaced: NDArray[np.bool_]
    breaks: NDArray[np.int64] = field(default_factory=_no_breaks)

    def __len__(self) -> int:
        return len(self.hashes)

    @classmethod
    def joined(cls, parts: Sequence[LocatedUnits], offsets: NDArray[np.int64]) -> LocatedUnits:
        """Return the units of several texts, of which each begins at an offset."""
        if len(parts) == 1:
            return parts[0]
        counts = np.array([len(part) for part in parts], np.int64)
        moved = np.repeat(offsets, counts)
        return cls(
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.starts for part in parts]) + moved,
            np.concatenate([part.ends for part in parts]) + moved,
            np.concatenate([part.spaced for part in parts]),
            np.cumsum(counts)[:-1],
        )

    def text_ends(self) -> NDArray[np.int64]:
        """Return for each unit the one behind the last of its text."""
        if not len(self.breaks):
            return np.full(len(self), len(self), np.int64)
        bounds = np.concatenate(([0], self.breaks, [len(self)]))
        return np.repeat(bounds[1:], np.diff(bounds))


@dataclass(frozen=True, slots=True)
class _Formed:
    """The code points of a normalized text, and where each comes from; shape (points,)."""

    points: NDArray[np.uint32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]


def located_units(text: str, normalization: Normalization = DEFAULT) -> LocatedUnits:
    """Return the tokens of a text with their character offsets.

    They are those that :func:`simstore.text.tokens.tokens` cuts the normalized text into. The
    span of a unit holds the marks that belong to it, and invisible characters within it.

    Args:
        text: Any text of fewer than 2**31 code points.
        normalization: The form in which units are compared.

    Raises:
        MissingExtra: Chinese scripts are to be folded, and OpenCC is not installed.
    """
    folded = normalization.unmask(text)
    formed = _formed(folded.text, normalization)
    if folded.starts is not None and folded.ends is not None and len(formed.points):
        formed = _Formed(formed.points, folded.starts[formed.starts], folded.ends[formed.ends - 1])
    kinds = class_table()[formed.points]
    starts, ends, spaced = _cut(kinds)
    if not len(starts):
        seen = np.where(np.isin(formed.points, _BLANKS), np.uint8(SEPARATOR), np.uint8(WORD))
        starts, ends, spaced = _cut(seen)
    return LocatedUnits(
        _hashes(formed.points, starts, ends),
        formed.starts[starts],
        formed.ends[ends - 1],
        spaced,
    )


def _cut(
    kinds: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return first and last offset (exclusive) of each token, and whether it is a word."""
    before = np.concatenate((np.zeros(1, np.uint8), kinds[:-1]))
    after = np.concatenate((kinds[1:], np.zeros(1, np.uint8)))[: len(kinds)]
    alone = kinds == CHARACTER
    is_word = kinds == WORD
    starts = np.flatnonzero(alone | (is_word & (before[: len(kinds)] != WORD)))
    ends = np.flatnonzero(alone | (is_word & (after != WORD))) + 1
    return starts, ends, is_word[starts]


def _hashes(
    points: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return a hash of the code points of each unit.

    A polynomial of the mixed code points, in an odd constant modulo 2**64, mixed again.
    """
    if not len(starts):
        return np.empty(0, np.uint64)
    lengths = ends - starts
    if int(lengths.max()) == 1:
        return mix(_mixed_points(points[starts]))
    firsts = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(firsts, lengths)
    powers = np.ones(int(lengths.max()), np.uint64)
    powers[1:] = GAMMA
    powers = np.multiply.accumulate(powers)
    terms = _mixed_points(points[within + np.repeat(starts, lengths)]) * powers[within]
    return mix(np.add.reduceat(terms, firsts))


def _mixed_points(points: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return mix((points.astype(np.uint64) + np.uint64(1)) * GAMMA)


def _formed(text: str, normalization: Normalization) -> _Formed:
    """Return the form of a text without disguises, and where each of its code points is from."""
    if text.isascii():
        points = np.frombuffer(text.encode(), np.uint8).astype(np.uint32)
        if normalization.case == "fold":
            points = points + 32 * ((points >= ord("A")) & (points <= ord("Z"))).astype(np.uint32)
        places = np.arange(len(points), dtype=np.int32)
        return _Formed(points, places, places + np.int32(1))
    if not normalization.folds_phrases:
        return _unfolded(text, normalization)
    formed = _unfolded(text, replace(normalization, han="keep"))
    return _simplified(formed, words=normalization.han == "simplified-words")


def _unfolded(text: str, normalization: Normalization) -> _Formed:
    """Return the normalized text; Chinese scripts are not folded.

    Normalization begins anew at each code point that does not join those before it, so what lies
    between two of them is normalized by itself.
    """
    every = forms_of_texts(normalization)
    given = code_points(text)
    forms = every.of(given)
    places = np.flatnonzero(forms != DROPPED)
    forms, given = forms[places], given[places]
    joins = forms == DEPENDS
    if not len(forms):
        return _Formed(given, places.astype(np.int32), places.astype(np.int32))
    begins = ~joins
    begins[0] = True
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(forms)) - 1
    of_piece = forms[firsts]
    # Pieces of several code points, or of one that joins what is not there.
    odd = np.flatnonzero((lasts > firsts) | (of_piece < 0))
    counts = np.ones(len(firsts), np.int64)
    made: list[NDArray[np.uint32]] = []
    known: dict[str, NDArray[np.uint32]] = {}
    for piece in odd.tolist():
        first, last = int(firsts[piece]), int(lasts[piece])
        if first == last and of_piece[piece] <= _FIRST_EXPANSION:
            points = every.expansion(int(of_piece[piece])).astype(np.uint32)
        else:
            data = given[first : last + 1].astype("<u4").tobytes()
            source = data.decode("utf-32-le", "surrogatepass")
            if source not in known:
                known[source] = code_points(normalization.form(source))
            points = known[source]
        counts[piece] = len(points)
        made.append(points)
    pieces = np.repeat(np.arange(len(firsts)), counts)
    points = of_piece[pieces].astype(np.uint32)
    if made:
        is_odd = np.zeros(len(firsts), bool)
        is_odd[odd] = True
        points[is_odd[pieces]] = np.concatenate(made)
    return _Formed(
        points,
        places[firsts].astype(np.int32)[pieces],
        (places[lasts] + 1).astype(np.int32)[pieces],
    )


def _simplified(formed: _Formed, *, words: bool) -> _Formed:
    """Return the text with Chinese scripts folded.

    Where a run keeps its length, each character stands for the one at its place. Where a word
    became a longer or shorter one, what differs stands for all that differed.
    """
    text = formed.points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    runs = list(HAN_RUN.finditer(text))
    if not runs:
        return formed
    folded = simplify("\n".join(run.group() for run in runs), words=words).split("\n")
    points: list[NDArray[np.uint32]] = []
    starts: list[NDArray[np.int32]] = []
    ends: list[NDArray[np.int32]] = []
    done = 0
    for run, new in zip(runs, folded, strict=True):
        old = run.group()
        head, tail = _agreeing(old, new) if len(old) != len(new) else (len(old), 0)
        first, last = run.start() + head, run.end() - tail
        points += [formed.points[done : run.start()], code_points(new)]
        # Places up to the end of what is the same in front, those behind, and one for all between.
        starts.append(formed.starts[done:first])
        ends.append(formed.ends[done:first])
        between = len(new) - head - tail
        low, high = min(first, run.end() - 1), max(last - 1, run.start())
        starts.append(np.full(between, formed.starts[min(low, high)], np.int32))
        ends.append(np.full(between, formed.ends[max(low, high)], np.int32))
        starts.append(formed.starts[last : run.end()])
        ends.append(formed.ends[last : run.end()])
        done = run.end()
    points.append(formed.points[done:])
    starts.append(formed.starts[done:])
    ends.append(formed.ends[done:])
    return _Formed(np.concatenate(points), np.concatenate(starts), np.concatenate(ends))


def _agreeing(old: str, new: str) -> tuple[int, int]:
    """Return how many characters of two texts agree at the beginning, and at the end after it."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    most -= head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    return head, tail
