from __future__ import annotations

import random
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from simstore.reports.html_charts import KINDS, MOST_BARS, Bar, chart, strip


def boxes(path: str) -> list[tuple[float, float, float, float]]:
    """Left, right, top and bottom of each box of a path."""
    found = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)H([\d.]+)V([\d.]+)z", path)
    assert "".join("M{} {}V{}H{}V{}z".format(*one) for one in found) == path
    return [(float(a), float(d), float(c), float(b)) for a, b, c, d, _ in found]


def bars(count: int) -> list[Bar]:
    kinds = [("high", 0.9), ("moderate", 0.6), ("none", 0.2), ("none", 0.0)]
    return [
        Bar(n / count, (n + 1) / count, kinds[n % 4][1], kinds[n % 4][0])  # type: ignore[arg-type]
        for n in range(count)
    ]


def test_each_passage_is_a_bar_as_high_as_its_similarity() -> None:
    drawn = chart(bars(8))
    assert not drawn.binned
    along = dict(drawn.along)
    assert boxes(along["high"]) == [(0, 125, 10, 100), (500, 625, 10, 100)]
    assert boxes(along["moderate"])[0] == (125, 250, 40, 100)
    assert len(boxes(along["none"])) == 2


@given(st.floats(0.02, 0.98), st.integers(MOST_BARS + 1, 3_000), st.randoms())
def test_the_area_of_a_class_is_its_share_of_a_long_text(
    share: float, count: int, draw: random.Random
) -> None:
    copied = round(share * count)
    order = [True] * copied + [False] * (count - copied)
    draw.shuffle(order)
    held = [
        Bar(n / count, (n + 1) / count, float(one), "high" if one else "none")
        for n, one in enumerate(order)
    ]
    found = boxes(dict(chart(held).along)["high"])
    area = sum((right - left) * (bottom - top) for left, right, top, bottom in found) / 100_000
    assert abs(area - copied / count) < 0.001


def test_the_histogram_counts_every_similar_passage_once() -> None:
    drawn = chart(bars(40))
    assert [one.count for one in drawn.bins] == [0, 0, 10, 0, 0, 0, 10, 0, 0, 10]
    assert drawn.left_out == 10
    assert dict(drawn.counts) == {"high": 10, "moderate": 10, "none": 20}


def test_nothing_is_drawn_of_nothing() -> None:
    drawn = chart([])
    assert not any(path for _, path in (*drawn.along, *drawn.composition))
    assert [kind for kind, _ in drawn.along] == list(KINDS)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda s: (min(s), max(s)))))
def test_a_strip_covers_its_spans_and_never_overlaps(spans: list[tuple[float, float]]) -> None:
    drawn = boxes(strip(spans))
    for start, end in spans:
        middle = 1000 * (start + end) / 2
        assert any(left - 4 <= middle <= right + 4 for left, right, _, _ in drawn)
    for before, after in pairwise(drawn):
        assert before[1] < after[0]
    assert bool(drawn) == bool(spans)
