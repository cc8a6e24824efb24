"""Cells of a crowded group have each pair of it once, and no other."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simstore.search import group_pairs as module
from simstore.search.group_pairs import ALONE, group_pairs


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12),
        max_size=5,
    ),
    st.integers(1, 40),
)
def test_cells_have_each_pair_with_a_fresh_row_once(
    groups: list[list[tuple[int, bool]]], block: int
) -> None:
    # (group, number) is a row, dealt to one of four parts, fresh or not.
    rows = [
        (group, cell, ALONE if cell[0] == cell[1] else part == cell[1], not fresh, number)
        for group, members in enumerate(groups)
        for number, (part, fresh) in enumerate(members)
        for cell in {(min(part, other), max(part, other)) for other in range(4)}
    ]
    rows.sort()
    keys = [row[:2] for row in rows]
    starts = [n for n in range(len(rows)) if n == 0 or keys[n] != keys[n - 1]]
    ends = [*starts[1:], len(rows)] if rows else []
    before, module._BLOCK = module._BLOCK, block
    try:
        found = Counter(
            (rows[left][0], *sorted((rows[left][4], rows[right][4])))
            for some in group_pairs(
                np.array(starts, np.int64),
                np.array(ends, np.int64),
                np.array([row[2] for row in rows], np.int8),
                np.array([not row[3] for row in rows], np.bool_),
            )
            for left, right in zip(some[0].tolist(), some[1].tolist(), strict=True)
        )
    finally:
        module._BLOCK = before
    expected = Counter(
        (group, one, other)
        for group, members in enumerate(groups)
        for one, other in combinations(range(len(members)), 2)
        if members[one][1] or members[other][1]
    )
    assert found == expected


def test_a_block_holds_few_pairs_of_a_large_group() -> None:
    count = 2_000
    sizes = [
        len(left)
        for left, _ in group_pairs(
            np.array([0]),
            np.array([count]),
            np.full(count, ALONE, np.int8),
            np.ones(count, np.bool_),
        )
    ]
    assert sum(sizes) == count * (count - 1) // 2
    assert max(sizes) <= module._BLOCK + count
