from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simstore.search.alignment import CommonUnits


def longest(one: str, other: str) -> int:
    """The textbook's table."""
    row = [0] * (len(other) + 1)
    for unit in one:
        before = row[:]
        for place, second in enumerate(other, 1):
            same = before[place - 1] + 1 if unit == second else 0
            row[place] = max(same, before[place], row[place - 1])
    return row[-1]


@given(st.text("abcd", max_size=80), st.text("abcde", max_size=80))
def test_the_count_is_that_of_the_longest_common_subsequence(one: str, other: str) -> None:
    assert CommonUnits(one).count(other) == longest(one, other)
