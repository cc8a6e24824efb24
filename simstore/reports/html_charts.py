"""Draw the SVG charts of the HTML report: similarity along a text, histogram, matched spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["high", "moderate", "none"]
KINDS: tuple[Kind, ...] = ("high", "moderate", "none")
# Paths have these coordinates, whatever size they are drawn at.
WIDTH, HEIGHT = 1000, 100
MOST_BARS = 400
_MOST_SPACED = 120
# Stretches of a text of more parts than bars: wide enough for each to hold several.
_STRETCHES = 100
_STRIP_SLOTS = 250
_BINS = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: a span of the text and its similarity.

    Attributes:
        start: Where it begins, of the whole, 0 to 1.
        end: Where it ends.
        similarity: 0 to 1.
        kind: Its class.
    """

    start: float
    end: float
    similarity: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class Bin:
    """A tenth of the scale of similarity.

    Attributes:
        low: Where it begins, in percent.
        high: Where it ends, in percent.
        count: Parts of the text in it.
        paths: For each class the path of its share of the bar; empty where there is none.
        label_y: Where its count stands, in percent of the height from above.
        label_x: The same in percent of the width.
    """

    low: int
    high: int
    count: int
    paths: tuple[tuple[Kind, str], ...]
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The SVG paths of both charts.

    Attributes:
        along: For each class the path of its bars along the text.
        binned: A bar stands for a stretch of the text, and its height for the share of it that is
            in parts of each class, one upon the other; else for the similarity of one part.
        bins: The histogram of parts that are like anything at all.
        left_out: Parts without any similarity, which the histogram leaves out.
        counts: Parts by class.
        composition: For each class the path of its share of all parts.
        few: There is room for a gap between bars.
    """

    along: tuple[tuple[Kind, str], ...]
    binned: bool
    bins: tuple[Bin, ...]
    left_out: int
    counts: tuple[tuple[Kind, int], ...]
    composition: tuple[tuple[Kind, str], ...]
    few: bool


def chart(bars: Sequence[Bar]) -> Chart:
    """Return the paths of both charts; a few nodes of SVG, however many bars there are."""
    counts = {kind: sum(bar.kind == kind for bar in bars) for kind in KINDS}
    is_binned = len(bars) > MOST_BARS
    along = _shares(bars) if is_binned else _similarities(bars)
    similar = [bar for bar in bars if bar.similarity > 0]
    return Chart(
        along,
        is_binned,
        _histogram(similar),
        len(bars) - len(similar),
        tuple(counts.items()),
        _composition(counts),
        len(bars) <= _MOST_SPACED,
    )


def strip(spans: Iterable[tuple[float, float]]) -> str:
    """Return the path of a strip that is filled where spans are, in parts of the whole.

    Args:
        spans: Starts and ends, 0 to 1, in any order; they may overlap.
    """
    slots = bytearray(_STRIP_SLOTS)
    for start, end in spans:
        first = min(int(start * _STRIP_SLOTS), _STRIP_SLOTS - 1)
        last = min(max(int(end * _STRIP_SLOTS), first + 1), _STRIP_SLOTS)
        slots[first:last] = b"\1" * (last - first)
    boxes, place = [], slots.find(1)
    while place >= 0:
        stop = slots.find(0, place)
        stop = _STRIP_SLOTS if stop < 0 else stop
        step = WIDTH / _STRIP_SLOTS
        boxes.append(_box(place * step, stop * step, 0, HEIGHT))
        place = slots.find(1, stop)
    return "".join(boxes)


def _similarities(bars: Sequence[Bar]) -> tuple[tuple[Kind, str], ...]:
    """Return for each class the path of its bars, each as high as it is similar."""
    return tuple(
        (
            kind,
            "".join(
                _box(bar.start * WIDTH, bar.end * WIDTH, (1 - bar.similarity) * HEIGHT, HEIGHT)
                for bar in bars
                if bar.kind == kind and bar.similarity > 0
            ),
        )
        for kind in KINDS
    )


def _shares(bars: Sequence[Bar]) -> tuple[tuple[Kind, str], ...]:
    """Return for each class the path of bars as high as its share of each stretch of the text.

    So the area of a class is its share of the whole text, however many parts there are.
    """
    held = {kind: [0.0] * _STRETCHES for kind in KINDS}
    for bar in bars:
        if bar.similarity <= 0:
            continue
        first = min(int(bar.start * _STRETCHES), _STRETCHES - 1)
        for slot in range(first, min(int(bar.end * _STRETCHES), _STRETCHES - 1) + 1):
            inside = min(bar.end * _STRETCHES, slot + 1) - max(bar.start * _STRETCHES, slot)
            held[bar.kind][slot] += max(inside, 0.0)
    floors = [0.0] * _STRETCHES
    paths: list[tuple[Kind, str]] = []
    width = WIDTH / _STRETCHES
    for kind in KINDS:
        boxes = []
        for slot, share in enumerate(held[kind]):
            top = min(floors[slot] + share, 1.0)
            if top - floors[slot] > 1e-6:
                sides = slot * width, (slot + 1) * width
                boxes.append(_box(*sides, (1 - top) * HEIGHT, (1 - floors[slot]) * HEIGHT))
            floors[slot] = top
        paths.append((kind, "".join(boxes)))
    return tuple(paths)


def _histogram(bars: Sequence[Bar]) -> tuple[Bin, ...]:
    held = [dict.fromkeys(KINDS, 0) for _ in range(_BINS)]
    for bar in bars:
        held[min(int(bar.similarity * _BINS + 1e-9), _BINS - 1)][bar.kind] += 1
    most = max((sum(counts.values()) for counts in held), default=0) or 1
    # Room above the highest bar for its count.
    scale = 0.82 * HEIGHT / most
    bins = []
    for number, counts in enumerate(held):
        paths, floor = [], float(HEIGHT)
        left, right = (number + 0.08) * WIDTH / _BINS, (number + 0.92) * WIDTH / _BINS
        for kind in KINDS:
            top = floor - counts[kind] * scale
            paths.append((kind, _box(left, right, top, floor) if counts[kind] else ""))
            floor = top
        bins.append(
            Bin(
                100 * number // _BINS,
                100 * (number + 1) // _BINS,
                sum(counts.values()),
                tuple(paths),
                round((number + 0.5) * 100 / _BINS, 2),
                round(floor - 4, 2),
            )
        )
    return tuple(bins)


def _composition(counts: dict[Kind, int]) -> tuple[tuple[Kind, str], ...]:
    total = sum(counts.values()) or 1
    place, paths = 0.0, []
    for kind in KINDS:
        end = place + WIDTH * counts[kind] / total
        paths.append((kind, _box(place, end, 0, HEIGHT) if counts[kind] else ""))
        place = end
    return tuple(paths)


def _box(left: float, right: float, top: float, bottom: float) -> str:
    return f"M{left:.2f} {bottom:.2f}V{top:.2f}H{right:.2f}V{bottom:.2f}z"
