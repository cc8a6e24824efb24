"""Building blocks of SVG plots: scales, series, tooltips, bars, and the figures as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Paths have these coordinates, whatever size they are drawn at.
WIDTH, HEIGHT = 1000, 100
_STEPS = (1, 2, 5)
_MOST_TICKS = 4
_WIDEST = 0.1


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the scale: its place, in percent from below or from the left, and its label."""

    place: float
    label: str


def count_ticks(most: int) -> tuple[tuple[Tick, ...], int]:
    """Return the ticks of a scale of counts from 0, and where it ends, at or above the most."""
    step = 1
    while -(-most // step) > _MOST_TICKS:
        power = 10 ** (len(str(step)) - 1)
        step = next((n * power for n in _STEPS if n * power > step), 10 * power)
    end = max(-(-most // step), 1) * step
    ticks = (Tick(round(100 * value / end, 2), _short(value)) for value in range(0, end + 1, step))
    return tuple(ticks), end


def line(points: Sequence[tuple[float, float]]) -> str:
    """Return a line through points, each share of the width and share of the height, 0 to 1."""
    return "".join(
        f"{'L' if place else 'M'}{x * WIDTH:.2f} {(1 - y) * HEIGHT:.2f}"
        for place, (x, y) in enumerate(points)
    )


def stairs(values: Sequence[int], most: int, *, closed: bool = False) -> str:
    """Return a line that reaches each value at the end of its part of the width, from 0 on."""
    points = [(0.0, 0.0)]
    points += [((place + 1) / len(values), value / most) for place, value in enumerate(values)]
    drawn = line(points)
    return f"{drawn}V{HEIGHT}H0z" if closed else drawn


def box(left: float, right: float, low: float, high: float) -> str:
    """Return a box between shares of the width and of the height, 0 to 1."""
    top, bottom = (1 - high) * HEIGHT, (1 - low) * HEIGHT
    return f"M{left * WIDTH:.2f} {bottom:.2f}V{top:.2f}H{right * WIDTH:.2f}V{bottom:.2f}z"


def _short(value: int) -> str:
    for size, sign in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if value >= size:
            scale = 1000 if sign == "k" else size
            return f"{value / scale:.2f}".rstrip("0").rstrip(".") + sign
    return f"{value:,}"


@dataclass(frozen=True, slots=True)
class Series:
    """A data series, drawn in one colour.

    Attributes:
        name: What it is.
        tone: Which ink: a class of the style.
        path: Its path.
        is_line: It is a line, not an area.
    """

    name: str
    tone: str
    path: str
    is_line: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """The tooltip of a part of a plot's width, in percent of the width."""

    left: float
    width: float
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture with its axes, and its figures as a table.

    Attributes:
        name: Names it among the others.
        title: What it shows.
        note: A sentence about it.
        series: What is drawn, the hindmost first.
        rows: Ticks of the height.
        columns: Ticks of the width.
        heads: Heads of the table.
        table: Its rows.
        begins: Ticks of the width say where something begins.
        empty: Why there is nothing to draw; empty where there is.
    """

    name: str
    title: str
    note: str = ""
    series: tuple[Series, ...] = ()
    rows: tuple[Tick, ...] = ()
    columns: tuple[Tick, ...] = ()
    heads: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    begins: bool = False
    empty: str = ""

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Return a tooltip for each row of the table."""
        width = 100 / max(len(self.table), 1)
        return tuple(
            Hint(
                round(place * width, 3),
                round(width, 3),
                "\n".join(
                    (row[0], *(f"{h}: {v}" for h, v in zip(self.heads[1:], row[1:], strict=True)))
                ),
            )
            for place, row in enumerate(self.table)
        )


def bars(
    name: str,
    title: str,
    note: str,
    named: Sequence[tuple[str, str, Sequence[int]]],
    labels: Sequence[str],
    row_labels: Sequence[str],
    head: str,
    columns: tuple[Tick, ...] | None = None,
) -> Plot:
    """Return bars, one upon the other."""
    sums = [sum(column) for column in zip(*(held for _, _, held in named), strict=True)]
    rows, most = count_ticks(max(sums))
    count = len(labels)
    # Few bars are no wider than is good to look at.
    half = min((0.42 if count <= 60 else 0.5) / count, _WIDEST / 2)
    floors = [0] * count
    series = []
    for said, tone, held in named:
        boxes = [
            box(
                (place + 0.5) / count - half,
                (place + 0.5) / count + half,
                floors[place] / most,
                (floors[place] + value) / most,
            )
            for place, value in enumerate(held)
            if value
        ]
        series.append(Series(said, tone, "".join(boxes)))
        floors = [low + value for low, value in zip(floors, held, strict=True)]
    begins = columns is not None
    if columns is None:
        step = -(-count // 12)
        columns = tuple(
            Tick(round(100 * (place + 0.5) / count, 2), label)
            for place, label in enumerate(labels)
            if place % step == 0
        )
    heads = (head, *(said for said, _, _ in named))
    table = tuple(
        (when, *(f"{held[place]:,}" for _, _, held in named))
        for place, when in enumerate(row_labels)
    )
    return Plot(
        name=name,
        title=title,
        note=note,
        series=tuple(series),
        rows=rows,
        columns=columns,
        heads=heads,
        table=table,
        begins=begins,
    )
