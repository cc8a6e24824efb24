"""Coordinates of plots: scales with round numbers, lines, stairs and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Paths have these coordinates, whatever size they are drawn at.
WIDTH, HEIGHT = 1000, 100
_STEPS = (1, 2, 5)
_MOST_TICKS = 4


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
